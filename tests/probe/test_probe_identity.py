"""A probe knows its checkpoints by content: replaced weights are noticed, and equal ones named."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hostile_checkpoints import change_config, save_gpt2
from safetensors.torch import load_file, save_file
from tests.store.run_examples import exchange

from headwise.cli.main import main
from headwise.core.errors import CorruptData
from headwise.probe import folder as probing_folders
from headwise.probe.weights import read_weights, weights_digest
from headwise.store import RunDirectory, load_trajectory, run_status
from headwise.store.files import remove

Probe = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture
def series(tmp_path: Path) -> Path:
    for step in (5, 10, 20):
        save_gpt2(tmp_path / "series" / f"checkpoint-{step}", seed=step)
    return tmp_path / "series"


@pytest.fixture
def probe(series: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Probe:
    def run(*arguments: str) -> tuple[int, dict[str, Any], str]:
        command = ["probe", str(series), "--sequences", "2", "--length", "8", "--out", str(tmp_path / "runs")]
        code = main([*command, *arguments, "--json"])
        out, err = capsys.readouterr()
        return code, json.loads(out) if out else {}, err

    return run


def replace_weights(checkpoint: Path, *, seed: int) -> None:
    """Other weights under the same name, of the same size and with the same times."""
    path = checkpoint / "model.safetensors"
    before = path.stat()
    other = save_gpt2(checkpoint.parent.parent / "other", seed=seed)
    shutil.copyfile(other / "model.safetensors", path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


@pytest.mark.parametrize("step", [5, 20])
def test_replaced_weights_are_not_given_the_old_numbers(series: Path, probe: Probe, step: int) -> None:
    code, first, _ = probe()
    assert code == 0
    weights = (series / f"checkpoint-{step}" / "model.safetensors").read_bytes()
    replace_weights(series / f"checkpoint-{step}", seed=77)
    code, _, err = probe()
    assert code == 3
    assert f"checkpoint-{step} has other weights" in err.splitlines()[-1]
    assert first["run"] in err
    (series / f"checkpoint-{step}" / "model.safetensors").write_bytes(weights)
    assert probe()[:2] == (0, first)
    replace_weights(series / f"checkpoint-{step}", seed=77)
    shutil.rmtree(first["run"])
    code, anew, _ = probe()
    assert code == 0
    assert (anew["final"] != first["final"]) == (step == 20)


def test_weights_replaced_before_a_probe_goes_on_are_noticed(series: Path, probe: Probe, tmp_path: Path) -> None:
    shutil.move(series / "checkpoint-20", tmp_path / "later")
    assert probe()[0] == 0
    shutil.move(tmp_path / "later", series / "checkpoint-20")
    replace_weights(series / "checkpoint-10", seed=77)
    code, _, err = probe()
    assert code == 3
    assert "checkpoint-10 has other weights" in err.splitlines()[-1]


def test_the_same_weights_in_other_settings_are_another_model(series: Path, probe: Probe) -> None:
    """Four heads of two numbers read the same matrices as two heads of four."""
    assert probe()[0] == 0
    change_config(series / "checkpoint-10", transformers_version="9.9", _name_or_path="elsewhere")
    assert probe()[0] == 0
    change_config(series / "checkpoint-10", n_head=4)
    code, _, err = probe()
    assert code == 3
    assert "checkpoint-10 has other settings" in err.splitlines()[-1]


def test_the_same_weights_in_other_files_are_the_same(series: Path, probe: Probe) -> None:
    assert probe()[0] == 0
    checkpoint = series / "checkpoint-10"
    whole = load_file(checkpoint / "model.safetensors")
    os.remove(checkpoint / "model.safetensors")
    index = {name: f"part-{i % 3}.safetensors" for i, name in enumerate(sorted(whole))}
    for part in set(index.values()):
        save_file({n: t for n, t in whole.items() if index[n] == part}, checkpoint / part, metadata={"other": "header"})
    (checkpoint / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    assert probe()[0] == 0


def test_a_checkpoint_damaged_after_its_look_stops_or_its_record_is_kept(series: Path, probe: Probe) -> None:
    assert probe()[0] == 0
    path = series / "checkpoint-10" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:500])
    code, _, err = probe()
    assert code == 3
    assert "checkpoint-10" in err.splitlines()[-1]
    code, document, _ = probe("--on-corrupt", "skip")
    assert (code, document["checkpoints"]) == (0, [5, 10, 20])


def test_checkpoints_that_are_gone_keep_their_records(series: Path, probe: Probe) -> None:
    """A trainer that keeps only its newest checkpoints deletes the others."""
    assert probe()[0] == 0
    shutil.rmtree(series / "checkpoint-5")
    save_gpt2(series / "checkpoint-30", seed=30)
    code, document, _ = probe()
    assert (code, document["checkpoints"], document["equal"]) == (0, [5, 10, 20, 30], [])


def test_checkpoints_with_equal_weights_are_named(series: Path, probe: Probe) -> None:
    shutil.copytree(series / "checkpoint-10", series / "checkpoint-30")
    shutil.copytree(series / "checkpoint-10", series / "checkpoint-40")
    code, document, err = probe()
    assert (code, document["equal"]) == (0, [[10, 30, 40]])
    assert "steps 10, 30, 40 have the same weights" in err
    assert probe()[1]["equal"] == [[10, 30, 40]]


def test_the_digest_is_of_names_types_shapes_and_numbers(tmp_path: Path) -> None:
    base = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.zeros(2, dtype=torch.bfloat16), "c": torch.zeros(0, 4)}
    others = [
        {**base, "a": base["a"].reshape(3, 2)},
        {**base, "a": base["a"] + 1e-6},
        {**base, "a": base["a"].double()},
        {**base, "b": torch.zeros(2, dtype=torch.float16)},
        {**base, "c": torch.zeros(4, 0)},
        {"d": base["a"], "b": base["b"], "c": base["c"]},
        {"a": base["a"], "b": base["b"]},
    ]
    assert len({weights_digest(one) for one in (base, *others)}) == 8
    assert weights_digest(dict(reversed(base.items()))) == weights_digest(base)
    turned = base["a"].T.contiguous().T
    assert not turned.is_contiguous()
    assert weights_digest({**base, "a": turned}) == weights_digest(base)
    (tmp_path / "one").mkdir()
    save_file(base, tmp_path / "one" / "model.safetensors")
    assert weights_digest(read_weights(tmp_path / "one", pickle="refuse")) == weights_digest(base)


def test_another_tokenizer_makes_other_tokens(series: Path, probe: Probe, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a b c d e f g h " * 10)
    write_words(series / "checkpoint-5", "abcdefgh")
    assert probe("--tokens", str(text))[0] == 0
    assert probe("--tokens", str(text))[0] == 0
    write_words(series / "checkpoint-5", "hgfedcba")
    code, _, err = probe("--tokens", str(text))
    assert code == 3
    assert "other tokens" in err.splitlines()[-1]


def write_words(folder: Path, words: str) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))


def test_a_record_left_without_digests_is_taken_again(series: Path, probe: Probe) -> None:
    """A crash between the two files: the same bytes as without it, and then known by content."""
    _, whole, _ = probe()
    files = {path.name: path.read_bytes() for path in RunDirectory(whole["run"]).data_files()}
    shutil.rmtree(whole["run"])
    kept: list[int] = []

    def crash(run: RunDirectory, looked_at: Any) -> None:
        kept.append(looked_at.last)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probing_folders, "write_looked_at", crash)
        assert probe()[0] == 130
    run = RunDirectory(whole["run"])
    assert (kept, run.metrics.ends(), run.checkpoints.steps()) == ([5], [5], [])
    assert probe()[1] == whole
    assert {path.name: path.read_bytes() for path in run.data_files()} == files


def test_runs_without_digests_are_read_and_go_on(series: Path, probe: Probe, tmp_path: Path) -> None:
    """As earlier versions wrote them: records, and nothing that says of what."""
    shutil.move(series / "checkpoint-20", tmp_path / "later")

    def keep(run: RunDirectory, looked_at: Any, record: Any, probe: Any, config: Any, identity: Any, **_: Any) -> None:
        about = {"coordinates": probe.coordinates(), "attributes": probe.attributes()}
        run.start(config.model_dump(mode="json"), identity=identity, **about)
        variables = {name: values[None] for name, values in record.items()}
        run.write_metrics(looked_at.last, steps=np.array([looked_at.last]), variables=variables)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probing_folders, "_keep", keep)
        code, old, _ = probe()
    assert (code, RunDirectory(old["run"]).checkpoints.steps()) == (0, [])
    assert probe()[:2] == (0, old)
    shutil.move(tmp_path / "later", series / "checkpoint-20")
    code, longer, _ = probe()
    assert (code, longer["checkpoints"]) == (0, [5, 10, 20])
    assert run_status(longer["run"], care="full") == "finished"
    replace_weights(series / "checkpoint-20", seed=77)
    assert probe()[0] == 3


def test_damaged_digests_are_named(series: Path, probe: Probe) -> None:
    _, document, _ = probe()
    path = RunDirectory(document["run"]).checkpoints.path(20)
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    code, _, err = probe()
    assert code == 3
    assert path.name in err.splitlines()[-1]
    assert "remove" in err.splitlines()[-1]


def test_a_damaged_config_is_named(series: Path, probe: Probe, tmp_path: Path) -> None:
    assert probe()[0] == 0
    [path] = (tmp_path / "runs").glob("*/*/config.json")
    path.write_bytes(path.read_bytes()[:-2])
    code, _, err = probe()
    assert code == 3
    assert str(path) in err


def test_a_crash_before_the_config_is_written_is_no_damage(series: Path, probe: Probe, tmp_path: Path) -> None:
    assert probe()[0] == 0
    [config] = (tmp_path / "runs").glob("*/*/config.json")
    for path in config.parent.iterdir():
        if not path.name.startswith("coordinates.json"):
            path.unlink()
    assert probe()[0] == 0
    assert config.exists()


def test_where_a_folder_lies_is_no_part_of_its_files(series: Path, tmp_path: Path) -> None:
    """The same checkpoints, under another name and on another machine as it were, give the same bytes."""
    shutil.copytree(series, tmp_path / "else" / "where" / "series")
    runs = []
    for number, folder in enumerate((series, tmp_path / "else/where/series")):
        line = ["probe", str(folder), "--sequences", "2", "--length", "8", "--out", str(tmp_path / f"out{number}")]
        assert main([*line, "-q"]) == 0
        runs += [RunDirectory(path) for path in (tmp_path / f"out{number}/probe-series").iterdir()]
    one, other = runs
    assert one.path.name != other.path.name
    for path in one.data_files():
        assert path.read_bytes() == (other.path / path.name).read_bytes(), path.name
        assert str(tmp_path).encode() not in path.read_bytes()
    one.verify()
    other.verify()


def test_a_record_of_other_weights_is_of_another_run(series: Path, tmp_path: Path) -> None:
    """Two folders of one name and with equal settings: what their files carry tells them apart."""
    for step in (5, 10, 20):
        save_gpt2(tmp_path / "b" / "series" / f"checkpoint-{step}", seed=100 + step)
    runs = []
    for number, folder in enumerate((series, tmp_path / "b/series")):
        line = ["probe", str(folder), "--sequences", "2", "--length", "8", "--out", str(tmp_path / f"out{number}")]
        assert main([*line, "-q"]) == 0
        runs += [RunDirectory(path) for path in (tmp_path / f"out{number}/probe-series").iterdir()]
    one, other = runs
    remove(one.manifest_path)
    exchange(one.metrics.path(20), other.metrics.path(20))
    with pytest.raises(CorruptData, match=r"metrics-00000020\.parquet is damaged: it belongs to another run"):
        load_trajectory(one.path)


def test_a_probe_without_a_whole_record_begins_anew(series: Path, probe: Probe) -> None:
    """Killed after its first record and before the digests of it; meanwhile the first checkpoint was replaced."""
    code, first, _ = probe()
    assert code == 0
    run = RunDirectory(first["run"])
    remove(run.manifest_path)
    for step in run.checkpoints.steps():
        remove(run.checkpoints.path(step))
    for step in (20, 10):
        remove(run.metrics.path(step))
    replace_weights(series / "checkpoint-5", seed=77)
    code, second, _ = probe()
    assert code == 0
    assert second["checkpoints"] == [5, 10, 20]
    assert second["final"] == first["final"]
    run.verify()
