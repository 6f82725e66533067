"""Feature matrices as an array are those of a file with the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.conftest import tiny

import headwise
from headwise.core.errors import ConfigError


def test_an_array_is_the_same_as_a_file(tmp_path: Path) -> None:
    matrices = np.random.default_rng(0).normal(size=(3, 6, 6))
    np.save(tmp_path / "mine.npy", matrices)
    from_file = headwise.train(tiny(task__features=str(tmp_path / "mine.npy")), out=tmp_path / "file", progress="off")
    given = headwise.train(tiny(), out=tmp_path / "array", progress="off", features=matrices)
    assert given.equals(from_file)
    again = headwise.train(tiny(), out=tmp_path / "array", progress="off", features=matrices.tolist())
    assert again.equals(given)
    assert len(list((tmp_path / "array" / "minimal").iterdir())) == 1, "the same run is found"
    assert len(headwise.list_runs(tmp_path / "array")) == 1
    for wrong in (matrices[0], "haar", np.zeros((3, 6, 5))):
        with pytest.raises(ConfigError, match=r"features.*give matrices as"):
            headwise.train(tiny(), out=tmp_path / "wrong", features=wrong)
    assert not (tmp_path / "wrong").exists()
