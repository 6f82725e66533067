"""Predictors kept below an output root: computed once, shared by runs, computed again when damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headwise.core.trajectory import attribute
from headwise.store import list_runs, load_trajectory
from headwise.study.experiments import experiment
from headwise.study.kept_predictors import FOLDER, kept_predictors
from headwise.study.runner import execute
from headwise.task import bayes, bayes_fitted

SMALL = {"task.d": 5, "task.T": 4, "train.samples": 40, "train.steps": 2, "measure.test_samples": 20}


def test_a_file_is_read_again_and_a_damaged_one_computed_again(tmp_path: Path) -> None:
    remember, made = kept_predictors(tmp_path), []

    def compute() -> dict[str, np.ndarray]:
        made.append(1)
        return {"table": np.arange(6.0).reshape(2, 3)}

    for _ in range(2):
        np.testing.assert_array_equal(remember("abc", compute)["table"], np.arange(6.0).reshape(2, 3))
    assert len(made) == 1
    (tmp_path / FOLDER / "abc.safetensors").write_bytes(b"damaged")
    remember("abc", compute)
    remember("abc", compute)
    assert len(made) == 2


def test_runs_of_one_task_share_a_fit_and_say_how_it_went(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bayes, "LARGEST_ENUMERATION", 0)
    monkeypatch.setattr(bayes, "MOST_VISIBLE", 0)
    monkeypatch.setattr(bayes_fitted, "STEPS", 8)
    fits = []
    honest = bayes_fitted.fit_restricted
    monkeypatch.setattr(bayes_fitted, "fit_restricted", lambda *a, **k: fits.append(1) or honest(*a, **k))
    for seed in (0, 1):
        config = experiment("minimal").changed(
            {**SMALL, "task.features": "haar", "seed": seed, "seeds.task": 3, "measure.bayes": (1, 2, 3)}
        )
        run = load_trajectory(execute(config, tmp_path).path)
        assert list(run["predictor"].values)[-3:] == ["bayes_1", "bayes_2", "bayes_3"]
        about = attribute(run, "bayes")
        assert [about[f"bayes_{i}"]["method"] for i in (1, 2, 3)] == ["fitted", "fitted", "complete"]
        assert about["bayes_1"]["loss"] <= min(about["bayes_1"]["losses"]) + 1e-6
        np.testing.assert_allclose(run["kl"].sel(predictor="bayes_3"), run["kl"].sel(predictor="prefix_3"), rtol=1e-6)
    assert len(fits) == 2, "two of the three predictors need a fit, and both seeds have the same task"
    assert len(list_runs(tmp_path)) == 2, "what is kept is no run"
