"""What commands do with a run that is not the one asked for, or with files that are not its own: exit code 3, named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.conftest import tiny
from tests.store.run_examples import content_of, exchange, put_in_place

from headwise.cli.main import main
from headwise.core.errors import CorruptData, Interrupted, MachineError
from headwise.store import RunDirectory
from headwise.store.files import remove
from headwise.study.config import RunConfig, config_hash, window_config
from headwise.study.executors import open_pool
from headwise.study.many import missing, run_on_pool
from headwise.study.run_location import run_location
from headwise.study.runner import execute


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line of a command that ends with exit code 3."""
    capsys.readouterr()
    assert main([str(argument) for argument in arguments]) == 3
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    return printed.err


def train(config: RunConfig, folder: Path) -> list[str]:
    """The command that trains this config."""
    file = folder / "config.toml"
    file.write_text(_toml(config.model_dump(mode="json", exclude={"seeds", "compute"})))
    return ["train", config.experiment, "--config", str(file), "--out", str(folder / "runs"), "-q"]


def _toml(values: dict[str, object], prefix: str = "") -> str:
    lines, tables = [], []
    for key, value in values.items():
        if isinstance(value, dict):
            tables.append(f"[{prefix}{key}]\n{_toml(value, f'{prefix}{key}.')}")
        elif value is not None:
            lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join([*lines, *tables]) + "\n"


def test_a_copy_under_another_seed_is_never_taken_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = execute(tiny(), tmp_path / "runs")
    asked = tiny(seed=9)
    copy = run_location(asked, tmp_path / "runs")
    shutil.copytree(run.path, copy)
    before = content_of(copy)
    with pytest.raises(CorruptData, match=r"seed is 0, not 9"):
        execute(asked, tmp_path / "runs")
    with pytest.raises(CorruptData, match=r"seed is 0, not 9"):
        execute(asked, tmp_path / "runs", on_damage="recover")
    assert content_of(copy) == before
    for command in (["show", copy], ["phases", copy], ["report", copy, "-o", tmp_path / "page.html"]):
        assert str(copy) in refused(capsys, *command)
    assert not (tmp_path / "page.html").exists()
    assert main(["collect", str(tmp_path / "runs"), "-o", str(tmp_path / "table")]) == 0
    assert f"left out, damaged: {copy}: {copy} holds another run" in capsys.readouterr().err
    assert pq.read_table(tmp_path / "table/runs.parquet").column("seed").to_pylist() == [0]
    assert main(["list", "--runs", str(tmp_path / "runs"), "--json"]) == 0
    listed = {entry["run"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert listed[str(copy)]["status"] == "damaged"
    assert "seed 0, not 9" in listed[str(copy)]["problem"]
    assert listed[str(run.path)]["problem"] == ""


def test_the_command_refuses_a_foreign_folder_in_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tiny()
    assert main(train(config, tmp_path)) == 0
    [run] = (tmp_path / "runs/minimal").iterdir()
    shutil.copytree(run, run.with_name(run.name.replace("-s0", "-s9")))
    line = refused(capsys, *train(config, tmp_path), "--seed", "9")
    assert "-s9 holds another run than the one asked for (seed is 0, not 9" in line
    assert main([*train(config, tmp_path), "--seed", "8"]) == 0


def test_names_are_long(tmp_path: Path) -> None:
    path = run_location(tiny(), tmp_path)
    digits = path.name.partition("-s")[0]
    assert len(digits) == 32
    assert digits == config_hash(tiny())


def test_a_sweep_does_not_count_a_foreign_folder_as_done(tmp_path: Path) -> None:
    configs = [tiny(seed=seed, train__steps=4) for seed in (0, 1)]
    run = execute(configs[0], tmp_path)
    copy = run_location(configs[1], tmp_path)
    shutil.copytree(run.path, copy)
    assert missing(configs, tmp_path) == [configs[1]]
    outcomes = run_on_pool(configs, tmp_path, pool=lambda: open_pool("local", workers=1, cluster=None), argv=[])
    assert [outcome.status for outcome in outcomes] == ["finished", "failed"]
    assert "seed is 0, not 1" in outcomes[1].reason


KINDS = ["metrics-00000004.parquet", "snapshots-00000012.safetensors", "checkpoint-00000012.safetensors"]


@pytest.mark.parametrize("name", KINDS)
def test_files_exchanged_between_two_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    one, other = execute(tiny(), tmp_path), execute(tiny(seed=1), tmp_path)
    exchange(one.path / name, other.path / name)
    for command in ("show", "phases", "report", "verify"):
        rest = ["-o", tmp_path / "page.html"] if command == "report" else []
        capsys.readouterr()
        assert main([command, str(one.path), *map(str, rest)]) == 3
        printed = capsys.readouterr()
        assert name in printed.err + printed.out


@pytest.mark.parametrize("name", ["metrics-00000004.parquet", "checkpoint-00000008.safetensors"])
def test_resume_refuses_and_recovers_from_foreign_files(tmp_path: Path, name: str) -> None:
    straight = execute(tiny(), tmp_path / "straight")
    for seed in (0, 1):
        stop_at_eight(tiny(seed=seed), tmp_path / "stopped")
    one, other = (run_location(tiny(seed=seed), tmp_path / "stopped") for seed in (0, 1))
    put_in_place(other / name, one / name)
    with pytest.raises(CorruptData, match=name):
        execute(tiny(), tmp_path / "stopped")
    recovered = execute(tiny(), tmp_path / "stopped", on_damage="recover")
    expected, found = straight.read_metrics().variables, recovered.read_metrics().variables
    for key, values in expected.items():
        assert np.array_equal(found[key], values, equal_nan=True), key


def stop_at_eight(config: RunConfig, out: Path) -> None:
    steps: list[int] = []
    with pytest.raises(Interrupted):
        execute(
            config, out, report=lambda progress: steps.append(progress.step), stop_asked=lambda: max([0, *steps]) >= 9
        )
    run = RunDirectory(run_location(config, out))
    with run.writing():
        run.discard_after(8)


def test_a_window_run_without_its_last_checkpoint_is_not_used(tmp_path: Path) -> None:
    config = tiny(measure__windows=(2,))
    window = execute(window_config(config, 2), tmp_path)
    straight = execute(config, tmp_path / "straight")
    remove(window.checkpoints.path(12))
    with pytest.raises(CorruptData, match=r"checkpoint-00000012\.safetensors is missing.*--recover"):
        execute(config, tmp_path)
    recovered = execute(config, tmp_path, on_damage="recover")
    assert window.checkpoints.path(12).exists()
    for key, values in straight.read_metrics().variables.items():
        assert np.array_equal(recovered.read_metrics().variables[key], values, equal_nan=True), key


def test_recovering_a_whole_finished_run_touches_nothing(tmp_path: Path) -> None:
    run = execute(tiny(), tmp_path)
    before = content_of(run.path)
    execute(tiny(), tmp_path, on_damage="recover")
    assert content_of(run.path) == before


def test_a_stray_checkpoint_does_not_change_the_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = execute(tiny(), tmp_path)
    put_in_place(run.checkpoints.path(12), run.checkpoints.path(99_999_999))
    assert "checkpoint-99999999" in refused(capsys, "show", run.path)
    assert main(["list", "--runs", str(tmp_path), "--json"]) == 0
    [entry] = json.loads(capsys.readouterr().out)
    assert (entry["steps"], entry["status"]) == (12, "damaged")


@pytest.mark.parametrize("name", ["metrics-00000008.parquet", "snapshots-00000008.safetensors"])
def test_a_lost_last_segment_does_not_shorten_the_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    stop_at_eight(tiny(measure__snapshots__every=4), tmp_path)
    [path] = (tmp_path / "minimal").iterdir()
    assert main(["show", str(path)]) == 0
    remove(path / name)
    for line in (["show", path], ["phases", path], ["report", path, "-o", tmp_path / "page.html"]):
        assert f"{path / name} is missing" in refused(capsys, *line)


@pytest.mark.parametrize("over", [True, False], ids=["over", "unfinished"])
def test_two_segments_exchanged_within_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], over: bool) -> None:
    config = tiny(measure__snapshots__every=4)
    if over:
        execute(config, tmp_path)
    else:
        stop_at_eight(config, tmp_path)
    [path] = (tmp_path / "minimal").iterdir()
    exchange(path / "snapshots-00000004.safetensors", path / "snapshots-00000008.safetensors")
    assert "snapshots-0000000" in refused(capsys, "show", path)


@pytest.mark.parametrize("over", [True, False], ids=["over", "unfinished"])
@pytest.mark.parametrize("name", ["config.json", "coordinates.json"])
def test_a_run_without_its_settings_is_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, over: bool
) -> None:
    command = train(tiny(), tmp_path)
    assert main(command) == 0
    [path] = (tmp_path / "runs/minimal").iterdir()
    whole = content_of(path)
    if not over:
        remove(path / "manifest.json")
    remove(path / name)
    for line in (command, ["show", path], ["phases", path], ["report", path.parent, "-o", tmp_path / "page.html"]):
        assert f"{path / name} is missing" in refused(capsys, *line)
    assert main([*command, "--recover"]) == 0
    after = content_of(path)
    times = ("manifest.json", "manifest.json.sha256", "log.jsonl")
    assert {key: after[key] for key in whole if key not in times} == {k: whole[k] for k in whole if k not in times}


def test_too_many_open_files_while_recovering_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_at_eight(tiny(), tmp_path)
    run = RunDirectory(run_location(tiny(), tmp_path))
    before = content_of(run.path)
    real = Path.read_bytes

    def read_bytes(path: Path) -> bytes:
        if path.name.startswith(("metrics", "checkpoint")):
            raise OSError(24, "Too many open files", str(path))
        return real(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", read_bytes)
        with pytest.raises(MachineError, match="too many open files") as caught:
            execute(tiny(), tmp_path, on_damage="recover")
    assert caught.value.exit_code == 1
    assert "\n" not in str(caught.value)
    assert content_of(run.path) == before
    execute(tiny(), tmp_path, on_damage="recover").verify()


def test_two_runs_of_one_config_have_the_same_bytes(tmp_path: Path) -> None:
    one, other = execute(tiny(), tmp_path / "a"), execute(tiny(), tmp_path / "b")
    for path in one.data_files():
        assert path.read_bytes() == (other.path / path.name).read_bytes(), path.name
