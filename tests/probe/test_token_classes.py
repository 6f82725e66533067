"""`--classes` of `headwise probe`: token ids by name from a file, the same roles as `classes=` of a watch."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from headwise import probe_folder
from headwise.cli.main import main
from headwise.core.errors import ConfigError
from headwise.probe import watch
from headwise.probe.token_classes import read_classes

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def model() -> torch.nn.Module:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_embd=8, n_layer=1, n_head=2, vocab_size=20, n_positions=16, bos_token_id=0, eos_token_id=0
    )
    return transformers.GPT2LMHeadModel(config).eval()


@pytest.fixture
def folder(tmp_path: Path, model: torch.nn.Module) -> Path:
    model.save_pretrained(tmp_path / "trained" / "checkpoint-5")
    np.save(tmp_path / "shown.npy", np.random.default_rng(0).integers(0, 20, (8, 12)))
    (tmp_path / "classes.json").write_text('{"low": [0, 1, 2, 3], "nine": [9]}')
    return tmp_path


def test_classes_of_a_folder_are_those_of_a_watch(folder: Path, model: torch.nn.Module) -> None:
    tokens, classes = folder / "shown.npy", folder / "classes.json"
    found = probe_folder(folder / "trained", tokens=tokens, classes=classes, out=folder / "runs")
    shown = torch.as_tensor(np.load(tokens))
    with watch(model, tokens=shown, classes={"low": [0, 1, 2, 3], "nine": [9]}) as w:
        pass
    assert list(found.trajectory["role"].values[-2:]) == ["class:low", "class:nine"]
    for name in ("role_score", "role_chance"):
        assert found.trajectory[name].values == pytest.approx(w.trajectory[name].values, abs=1e-6, nan_ok=True)


def test_other_classes_are_another_run_and_a_mapping_is_as_good_as_a_file(folder: Path) -> None:
    def run(classes: object) -> Path:
        return probe_folder(folder / "trained", tokens=folder / "shown.npy", classes=classes, out=folder / "runs").run  # type: ignore[arg-type]

    from_file = run(folder / "classes.json")
    assert run({"low": [0, 1, 2, 3], "nine": [9]}) == from_file
    assert run({"low": [0, 1, 2], "nine": [9]}) != from_file
    assert run(None) != from_file


def test_the_command_takes_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["probe", str(folder / "trained"), "--classes", str(folder / "classes.json"), "--length", "8"]
    assert main([*arguments, "--out", str(folder / "runs"), "--json", "-q"]) == 0
    document = json.loads(capsys.readouterr().out)
    run = probe_folder(folder / "trained", classes=folder / "classes.json", length=8, out=folder / "runs")
    assert document["run"] == str(run.run)
    assert "class:nine" in run.trajectory["role"].values


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[1, 2]", "give token ids by name"),
        ("{}", "give token ids by name"),
        ('{"low": []}', "'low' needs a list of token ids"),
        ('{"low": [1.5]}', "'low' needs a list of token ids"),
        ('{"low": [true]}', "'low' needs a list of token ids"),
        ('{"low": "12"}', "'low' needs a list of token ids"),
        ('{"": [1]}', "'' is no name of a class"),
        ('{"a\\u001b[2J": [1]}', "is no name of a class"),
        ('{"low": [1], "low": [2]}', "'low' stands there twice"),
        ('{"low": [20]}', "the ids of 'low' range over 20..20, the model has 0..19"),
        ('{"low": [-1, 3]}', "the ids of 'low' range over -1..3, the model has 0..19"),
        ("not json", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ("\xff", "cannot be read"),
    ],
)
def test_what_is_wrong_with_the_file_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], content: str, reason: str
) -> None:
    (folder / "classes.json").write_bytes(content.encode("latin-1"))
    arguments = ["probe", str(folder / "trained"), "--classes", str(folder / "classes.json"), "--length", "8"]
    assert main([*arguments, "--out", str(folder / "runs"), "-q"]) == 2
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    assert "--classes" in error
    assert reason in error


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not an ordinary file"):
        read_classes(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_classes(tmp_path / "none.json")
    with pytest.raises(ConfigError, match="'low' needs a list of token ids"):
        read_classes({"low": ["a"]})  # type: ignore[list-item]
