"""At u = 0 with zero values nothing breaks the symmetry of the heads: they stay equal to the last bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.conftest import tiny

from headwise.study.runner import execute


def test_heads_stay_identical_on_the_reference_path(tmp_path: Path) -> None:
    config = tiny(**{"model__init_scale": 0.0, "compute__path": "reference", "train__steps": 60, "task__d": 13})
    run = execute(config, tmp_path)
    weights = run.latest_checkpoint().arrays
    for name in ("model.blocks.0.attention.score_HDD", "model.blocks.0.attention.value_HED"):
        assert np.abs(weights[name]).max() > 0, "nothing was learned, so nothing was tested"
        for head in (1, 2):
            assert weights[name][head].tobytes() == weights[name][0].tobytes(), name
    shares = run.read_metrics().variables["attention_by_lag"]
    assert np.array_equal(shares[:, :, 0], shares[:, :, 1])


def test_a_tiny_scale_breaks_it(tmp_path: Path) -> None:
    run = execute(tiny(**{"model__init_scale": 1e-3, "compute__path": "reference"}), tmp_path)
    score = run.latest_checkpoint().arrays["model.blocks.0.attention.score_HDD"]
    assert not np.array_equal(score[0], score[1])
