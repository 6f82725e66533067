"""The command line as a person meets it: results, resume, and one clear line for every mistake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headwise.cli.main import main

SIZES = {
    "task.d": 6,
    "task.T": 5,
    "train.batch": 20,
    "train.samples": 60,
    "train.checkpoint_every": 4,
    "measure.test_samples": 30,
    "measure.at.every": 3,
    "measure.snapshots.every": 6,
}
TINY = ["--preset", "redrawn", *(part for key, value in SIZES.items() for part in (f"--{key}", str(value)))]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, *arguments: object) -> str:
    """The one line of a refusal; checks exit code 2 and that nothing was written."""
    out = tmp_path / "nothing"
    code, stdout, stderr = run(capsys, "train", *arguments, "--out", out)
    assert code == 2, stderr
    assert stdout == ""
    assert len(stderr.strip().splitlines()) == 1, stderr
    assert not out.exists()
    return stderr


def test_train_and_show_agree(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, stdout, _ = run(capsys, "train", "minimal", *TINY, "--steps", 8, "--out", tmp_path, "--json", "-q")
    assert code == 0
    result = json.loads(stdout)
    assert result["status"] == "finished"
    assert result["steps"] == 8
    assert set(result["final"]["kl"]) == {"prefix_1", "prefix_2", "prefix_3"}
    assert [len(result["final"]["attention_by_group"]), len(result["final"]["attention_by_group"][0])] == [1, 3]
    assert result["config"]["task"]["d"] == 6
    code, stdout, _ = run(capsys, "show", result["run"], "--json")
    assert code == 0
    assert json.loads(stdout) == result
    code, stdout, _ = run(capsys, "list", "--runs", tmp_path, "--json")
    assert [r["status"] for r in json.loads(stdout)] == ["finished"]


def test_missing_windows_are_trained_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ("train", "minimal", *TINY, "--steps", 4, "--out", tmp_path, "--measure.windows", 2, 4, "--json")
    code, stdout, stderr = run(capsys, *arguments)
    assert code == 0
    assert {"window_2", "window_4"} <= set(json.loads(stdout)["final"]["kl"])
    assert "minimal-window-2: step 4/4" in stderr
    _, _, stderr = run(capsys, *arguments)
    assert stderr == "", "a finished run must not be computed again"


def test_options_before_the_experiment(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, stdout, _ = run(capsys, "train", "--task.m", 1.5, "minimal", "--dry-run", "--out", tmp_path)
    assert code == 0
    assert json.loads(stdout)["config"]["task"]["m"] == 1.5


def test_config_file_and_precedence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('preset = "text"\nseed = 4\n[task]\nm = 1.3\n[measure.at]\nevery = 7\n[train]\nlr = 0.5\n')
    code, stdout, _ = run(capsys, "train", "minimal", "--config", file, "--train.lr", 0.25, "--dry-run")
    config = json.loads(stdout)["config"]
    assert code == 0
    assert (config["preset"], config["seed"], config["task"]["m"], config["train"]["lr"]) == ("text", 4, 1.3, 0.25)
    assert config["measure"]["at"]["every"] == 7
    file.write_text("[task]\nmm = 1\n")
    assert "unknown key task.mm; did you mean task.m?" in refused(capsys, tmp_path, "minimal", "--config", file)
    file.write_text("[task\n")
    assert "not valid TOML" in refused(capsys, tmp_path, "minimal", "--config", file)


def test_none_empties_a_key_or_names_a_choice(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--train.clip", "none", "--model.context", "none", "--model.score_scale", "none", "--model.norm=none")
    code, stdout, _ = run(capsys, "train", "full", *arguments, "--dry-run")
    config = json.loads(stdout)["config"]
    assert code == 0
    assert (config["train"]["clip"], config["model"]["context"]) == (None, None)
    assert (config["model"]["score_scale"], config["model"]["norm"]) == ("none", "none")


def test_samples_below_the_batch_shrink_it(capsys: pytest.CaptureFixture[str]) -> None:
    _, stdout, _ = run(capsys, "train", "minimal", "--train.samples", 600, "--dry-run")
    assert json.loads(stdout)["config"]["train"]["batch"] == 600


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--task.groups", "[[1,2],[2,3],[4,5]]"], ["task.groups", "lag 2", "I(1) and I(2)", "overlap allow"]),
        (["--task.groups", "[[1,2],[3,4],[5,9]]"], ["task.groups", "lag 9", "1..6"]),
        (["--task.groups", "[[0,2],[3,4],[5,6]]"], ["task.groups", "lag 0"]),
        (["--task.alpha", "[0.7,-0.3]"], ["task.alpha", "negative"]),
        (["--task.alpha", "[0.7,0.2,0.1]"], ["task.alpha", "3 weights for 2 lags"]),
        (["--task.m", "0"], ["task.m", "greater than 0"]),
        (["--task.m", "-1.5"], ["task.m"]),
        (["--task.m", "nan"], ["task.m", "finite"]),
        (["--task.b0", "inf"], ["task.b0", "finite"]),
        (["--task.m", "abc"], ["task.m", "number", "abc"]),
        (["--task.d", "2.5"], ["task.d", "integer"]),
        (["--task.d", "1000000"], ["task.d"]),
        (["--model.heads", "0"], ["model.heads"]),
        (["--model.context", "26"], ["model.context", "25"]),
        (["--model.window", "40"], ["model.window", "25"]),
        (["--measure.windows", "7"], ["measure.windows", "1..task.w = 6"]),
        (["--measure.bayes", "4"], ["measure.bayes", "task.h = 3"]),
        (["--train.batch", "9001"], ["train.batch", "train.samples = 9000"]),
        (["--train.optimizer", "Adamw"], ["train.optimizer", "AdamW"]),
        (["--train.optimizer", "Adam", "--train.momentum", "0.5"], ["train.momentum", "Adam"]),
        (["--train.options.beta", "3"], ["train.options.beta"]),
        (["--taks.m", "1"], ["unknown key taks.m; did you mean task.m?"]),
        (["--task.mm", "1"], ["unknown key task.mm; did you mean task.m?"]),
        (["--sede", "1"], ["--sede", "did you mean --seed"]),
        (["--seed", "-1"], ["seed", "greater than or equal to 0"]),
        (["--seed", "x"], ["seed", "integer"]),
        (["--task.m"], ["--task.m", "needs a value"]),
        (["--task.m", "1", "--task.m", "2"], ["--task.m", "twice"]),
        (["--preset", "txt"], ["--preset", "published"]),
        (["--path", "gpu"], ["compute.path", "reference"]),
        (["--device", "quantum"], ["device"]),
        (["--config", "absent.toml"], ["absent.toml"]),
        (["extra"], ["extra"]),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    line = refused(capsys, tmp_path, "minimal", *arguments)
    for word in words:
        assert word in line


def test_full_model_width(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    line = refused(capsys, tmp_path, "full", "--model.width", 256)
    assert "model.width = 256 is not divisible by model.heads = 3" in line
    assert "255" in line


def test_unknown_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "did you mean minimal?" in refused(capsys, tmp_path, "minimall")
    code, _, stderr = run(capsys, "trian", "minimal")
    assert code == 2
    assert "did you mean train?" in stderr
    code, _, stderr = run(capsys, "show", tmp_path)
    assert code == 2
    assert "is not a run" in stderr
    code, _, stderr = run(capsys, "--nonsense")
    assert code == 2
    assert "--nonsense" in stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_root(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    code, _, stderr = run(capsys, "train", "minimal", *TINY, "--out", tmp_path / "x")
    assert code == 2
    assert len(stderr.splitlines()) == 1


def test_root_that_is_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "deeper"):
        code, _, stderr = run(capsys, "train", "minimal", *TINY, "--out", out)
        assert code == 2
        assert len(stderr.splitlines()) == 1


def test_busy_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from headwise.store import RunDirectory

    arguments = ("train", "minimal", *TINY, "--steps", 4, "--out", tmp_path)
    _, stdout, _ = run(capsys, *arguments, "--dry-run")
    directory = RunDirectory(json.loads(stdout)["run"])
    with directory.writing():
        code, _, stderr = run(capsys, *arguments, "-q")
    assert code == 2
    assert str(directory.path) in stderr
    assert len(stderr.splitlines()) == 1


def test_damaged_checkpoint(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ("train", "minimal", *TINY, "--steps", 12, "--out", tmp_path, "-q", "--json")
    _, stdout, _ = run(capsys, *arguments)
    whole = json.loads(stdout)
    directory = Path(whole["run"])
    for leftover in (directory / "manifest.json", directory / "manifest.json.sha256"):
        leftover.unlink()
    newest = sorted(directory.glob("checkpoint-*.safetensors"))[-1]
    content = bytearray(newest.read_bytes())
    content[-5] ^= 1
    newest.write_bytes(content)
    code, _, stderr = run(capsys, *arguments)
    assert code == 3
    assert newest.name in stderr
    assert "--recover" in stderr
    code, stdout, _ = run(capsys, *arguments, "--recover")
    assert code == 0
    assert json.loads(stdout)["final"] == whole["final"]


@pytest.mark.parametrize("name", ["manifest.json", "config.json", "coordinates.json"])
def test_damaged_descriptions_are_written_anew(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ("train", "minimal", *TINY, "--steps", 8, "--out", tmp_path, "-q", "--json")
    whole = json.loads(run(capsys, *arguments)[1])
    if name != "manifest.json":
        for leftover in Path(whole["run"]).glob("manifest.json*"):
            leftover.unlink()
    (Path(whole["run"]) / name).write_text("{}")
    assert run(capsys, *arguments)[0] == 3
    code, stdout, _ = run(capsys, *arguments, "--recover")
    assert code == 0
    assert json.loads(stdout)["final"] == whole["final"]


def test_another_precision_is_another_run(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("train", "minimal", *TINY, "--dry-run")
    single, double = (
        json.loads(run(capsys, *arguments, "--compute.dtype", dtype)[1])["run"] for dtype in ("float32", "float64")
    )
    assert single != double


def test_a_short_option_ends_the_values_of_a_key(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, stdout, _ = run(capsys, "train", "minimal", "--task.m", "1.3", "-q", "--dry-run")
    assert json.loads(stdout)["config"]["task"]["m"] == 1.3
    assert "task.b0" in refused(capsys, tmp_path, "minimal", "--task.b0", "-3", "-q")


def test_damaged_metrics_of_a_finished_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, stdout, _ = run(capsys, "train", "minimal", *TINY, "--steps", 8, "--out", tmp_path, "-q", "--json")
    segment = sorted(Path(json.loads(stdout)["run"]).glob("metrics-*.parquet"))[0]
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 4
    segment.write_bytes(content)
    code, stdout, stderr = run(capsys, "show", segment.parent)
    assert code == 3
    assert segment.name in stderr


def test_divergence_is_a_status(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, stdout, stderr = run(
        capsys, "train", "minimal", *TINY, "--steps", 50, "--train.optimizer", "SGD", "--train.lr", "1e38",
        "--train.clip", "none", "--out", tmp_path, "--json", "-q",
    )  # fmt: skip
    result = json.loads(stdout)
    assert code == 1
    assert result["status"] == "diverged"
    assert result["steps"] < 50
    assert len(stderr.strip().splitlines()) == 1


def test_figure_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, stdout, _ = run(capsys, "train", "minimal", *TINY, "--steps", 8, "--out", tmp_path, "-q", "--json")
    for ending in ("png", "pdf", "svg"):
        code, _, _ = run(capsys, "show", json.loads(stdout)["run"], "--figure", tmp_path / f"f.{ending}")
        assert code == 0
        assert (tmp_path / f"f.{ending}").stat().st_size > 5000
    code, _, stderr = run(capsys, "show", json.loads(stdout)["run"], "--figure", tmp_path / "f.doc")
    assert code == 2
    assert ".png" in stderr


def test_reading_and_drawing_need_no_torch(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, stdout, _ = run(capsys, "train", "minimal", *TINY, "--steps", 8, "--out", tmp_path, "-q", "--json")
    program = (
        "import sys\n"
        "class NoTorch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        assert name.split('.')[0] != 'torch'\n"
        "sys.meta_path.insert(0, NoTorch())\n"
        "from headwise.cli.main import main\n"
        f"assert main(['show', {json.loads(stdout)['run']!r}, '--figure', {str(tmp_path / 'a.png')!r}]) == 0\n"
        "assert main(['list', '--runs', " + repr(str(tmp_path)) + "]) == 0\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["train", "--help"], ["train", "minimal", "--task.m", "0"], ["list"]], ids=" ".join
)
def test_help_and_errors_load_nothing_heavy(arguments: list[str]) -> None:
    """Seconds cannot be tested on a busy machine; what takes them can: torch, numpy, xarray and the like."""
    program = (
        "import sys\nfrom headwise.cli.main import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'numpy', 'xarray', 'pandas', 'scipy', 'matplotlib', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    print(f"{arguments}: {time.perf_counter() - began:.2f} s")


def test_help_names_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    from headwise.core.keys import known_keys
    from headwise.study.config import RunConfig

    with pytest.raises(SystemExit):
        main(["train", "--help"])
    text = capsys.readouterr().out
    for key in known_keys(RunConfig):
        if "." in key:
            assert f"--{key}" in text
