"""Metrics of one's own in a training: measured at every evaluation, stored, drawn, and part of what a run is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.conftest import tiny

import headwise
from headwise.core.errors import ConfigError
from headwise.store import RunDirectory
from headwise.study.collect import collect
from headwise.view.report.page import page


def accuracy(look: headwise.Look) -> float:
    """Of the last prediction, from the model itself."""
    logits, _ = look.model(look.tokens, 1)
    return float((logits.argmax(-1)[:, 0] == look.tokens[:, -1]).float().mean())


def copied_loss(look: headwise.Look) -> float:
    return float(look.variables["loss"][1])


METRICS = {"accuracy": accuracy, "copied loss": copied_loss}


def test_metrics_are_stored_and_change_nothing_else(tmp_path: Path) -> None:
    looks: list[headwise.Look] = []
    plain = headwise.train(tiny(), out=tmp_path, progress="off")
    measured = headwise.train(tiny(), out=tmp_path, progress="off", metrics=METRICS, on_look=looks.append)
    assert measured["metric"].values.tolist() == ["accuracy", "copied loss"]
    assert measured.drop_vars(["metrics", "metric"]).equals(plain), "training and the other variables are the same"
    assert np.array_equal(measured["metrics"].sel(metric="copied loss"), plain["loss"].sel(split="test"))
    assert [look.step for look in looks] == plain["step"].values.tolist()
    assert looks[-1].numbers()["metrics/accuracy"] == float(measured["metrics"].sel(metric="accuracy")[-1])
    assert 0 <= looks[-1].numbers()["metrics/accuracy"] <= 1
    runs = sorted((tmp_path / "minimal").iterdir())
    assert len(runs) == 2, "with metrics it is another run"
    again: list[headwise.Look] = []
    read = headwise.train(tiny(), out=tmp_path, progress="off", metrics=METRICS, on_look=again.append)
    assert read.equals(measured)
    assert not again, "a finished run is read, not computed"
    collected = collect(tmp_path, tmp_path / "collected")
    import pandas as pd

    curves = pd.read_parquet(collected.curves)
    assert set(curves[curves.variable == "metrics"]["metric"]) == set(METRICS)
    [written] = [run for run in runs if RunDirectory(run).read_config().get("own")]
    page(written, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "metrics:copied loss" in text
    assert "Own metrics" in text


def test_a_run_says_with_what_it_was_measured_and_refuses_other_code(tmp_path: Path) -> None:
    headwise.train(tiny(), out=tmp_path, progress="off", metrics={"accuracy": accuracy})
    [run] = (tmp_path / "minimal").iterdir()
    stored = RunDirectory(run).read_config()
    assert stored["own"]["metrics"]["accuracy"]["name"].endswith("test_own_metrics.accuracy")
    assert headwise.train(stored, out=tmp_path, progress="off")["metric"].values.tolist() == ["accuracy"], "is read"
    with pytest.raises(ConfigError, match=r"made with .*accuracy \(source [0-9a-f]{12}\), not .*copied_loss"):
        headwise.train(stored, out=tmp_path, metrics={"accuracy": copied_loss})
    with pytest.raises(ConfigError, match=r"metrics\['accuracy'\]: this run was made with code of your own"):
        headwise.train(stored, out=tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()
    plain = RunDirectory(run).read_config()
    del plain["own"]
    assert headwise.RunConfig(**plain).model_dump(mode="json") == plain, "a config without own code has no such key"


def test_a_run_that_was_stopped_goes_on_with_the_same_metrics(tmp_path: Path) -> None:
    whole = headwise.train(tiny(), out=tmp_path / "whole", progress="off", metrics=METRICS)
    steps: list[int] = []

    def stop(look: headwise.Look) -> None:
        steps.append(look.step)
        if look.step == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        headwise.train(tiny(), out=tmp_path / "cut", progress="off", metrics=METRICS, on_look=stop)
    [run] = (tmp_path / "cut" / "minimal").iterdir()
    assert headwise.load(run)["step"].values[-1] >= 3, "what was measured is read"
    resumed = headwise.train(tiny(), out=tmp_path / "cut", progress="off", metrics=METRICS)
    assert resumed.equals(whole)


def test_a_failing_metric_stops_before_training(tmp_path: Path) -> None:
    def broken(look: headwise.Look) -> Any:
        return torch.zeros(2)

    with pytest.raises(ConfigError, match=r"'broken' gave an array of shape \(2,\) at step 0"):
        headwise.train(tiny(), out=tmp_path, progress="off", metrics={"broken": broken})
