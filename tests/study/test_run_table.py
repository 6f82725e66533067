"""The list of runs: what tells them apart, in any order, also where one of them cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.study.test_sweep import SIZES

import headwise
from headwise.core.errors import ConfigError
from headwise.store import load_trajectory


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    config = headwise.experiment("minimal", "redrawn", changes=SIZES)
    headwise.sweep(config, over={"task.m": [1, 1.5], "train.lr": [0.05]}, seeds=(0, 1), out=out)
    return out


def test_the_table_shows_the_keys_that_differ_and_no_others(swept: Path) -> None:
    head = str(headwise.list_runs(swept)).splitlines()[1].split()
    assert "task.m" in head
    assert "train.lr" not in head
    assert "seed" not in head


def test_every_short_name_is_a_pattern_of_that_run_alone(swept: Path) -> None:
    runs = headwise.list_runs(swept)
    names = [line.split()[0] for line in str(runs).splitlines()[3:]]
    assert [list(swept.glob(name)) for name in names] == [[run.path] for run in runs]


def test_the_last_losses_are_those_of_the_run(swept: Path) -> None:
    for run in headwise.list_runs(swept):
        trajectory = load_trajectory(run.path)
        assert run.final["excess_loss"] == float(trajectory["excess_loss"][-1])
        assert run.final["loss.test"] == float(trajectory["loss"].sel(split="test")[-1])
        assert run.config["train.lr"] == 0.05


@pytest.mark.parametrize("reverse", [False, True])
def test_runs_are_sorted_by_any_column_or_key(swept: Path, reverse: bool) -> None:
    losses = [run.loss for run in headwise.list_runs(swept, sort="loss", reverse=reverse)]
    assert losses == sorted(losses, reverse=reverse)
    values = [run.config["task.m"] for run in headwise.list_runs(swept, sort="task.m", reverse=reverse)]
    assert values == sorted(values, reverse=reverse)


def test_an_unknown_column_is_named_with_the_nearest(swept: Path) -> None:
    with pytest.raises(ConfigError, match=r"--sort los: no such column; did you mean loss\?"):
        headwise.list_runs(swept, sort="los")


def test_a_damaged_run_is_listed_with_its_problem_and_without_numbers(swept: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(swept, tmp_path / "runs")
    broken = headwise.list_runs(tmp_path / "runs")[0].path
    (broken / "config.json").write_text("{")
    runs = headwise.list_runs(tmp_path / "runs", sort="loss")
    assert [run.path for run in runs if run.status == "damaged"] == [broken]
    assert runs[-1].path == broken, "what has no loss comes last"
    assert (runs[-1].config, runs[-1].final, runs[-1].stages) == ({}, {}, None)
    assert "config.json" in str(runs)
    json.dumps(runs.to_json(), allow_nan=False)


def test_without_stages_no_curve_is_read(swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise AssertionError(path)

    monkeypatch.setattr("headwise.study.run_table.load_trajectory", refuse)
    assert all(run.loss is None and run.config for run in headwise.list_runs(swept, stages=False))


def test_a_sweep_says_which_run_has_which_values(swept: Path) -> None:
    config = headwise.experiment("minimal", "redrawn", changes=SIZES)
    again = headwise.sweep(config, over={"task.m": [1, 1.5], "train.lr": [0.05]}, seeds=(0, 1), out=swept)
    for one, values in zip(again.outcomes, again.values, strict=True):
        stored = json.loads((one.run / "config.json").read_text())
        assert values == {"task.m": stored["task"]["m"], "train.lr": 0.05, "seed": stored["seed"]}
        assert f"{one.run}  task.m={values['task.m']}, train.lr=0.05, seed={values['seed']}" in str(again)
    assert again.summary.startswith("4 of 4 runs finished")
    assert f"headwise collect {swept}" in again.summary
