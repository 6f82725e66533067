"""Two witnesses of induction: the second can take back what the first says, and never more than that."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np

from headwise.probe.witnesses import judge


def sums(scores: list[float]) -> Any:
    """Scores of heads of one role, the same in two folds."""
    column = np.asarray(scores)[:, None]
    return SimpleNamespace(
        score=lambda: column,
        chance=lambda: np.full_like(column, 0.1),
        by_fold=lambda: np.stack([column, column]),
        told=lambda: np.array([True]),
        count=np.array([100]),
        folds=2,
    )


def test_the_repeats_lower_a_score_that_they_contradict_and_no_other() -> None:
    batch, repeats = sums([0.8, 0.8, 0.8, 0.0, -0.2]), sums([0.7, 0.1, -0.3, -0.4, -0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judged = judge(batch, 0, repeats)
    assert np.allclose(judged.score, [0.8, 0.1, 0.0, 0.0, -0.2])
    assert np.allclose(judged.by_fold, judged.score)
