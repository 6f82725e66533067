"""Every name of the Python surface is there, lazy, and does what its example says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import tiny

import headwise


def test_every_name_resolves() -> None:
    for name in headwise.__all__:
        assert getattr(headwise, name) is not None
    assert set(dir(headwise)) == set(headwise.__all__)
    with pytest.raises(AttributeError, match="headwise has no 'trian'"):
        headwise.trian  # noqa: B018


def test_importing_is_light() -> None:
    program = "import sys, headwise; assert not {'torch', 'numpy', 'xarray'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_train_load_and_detect(tmp_path: Path) -> None:
    trained = headwise.train(tiny(), out=tmp_path)
    [run] = (tmp_path / "minimal").iterdir()
    assert headwise.load(run).identical(trained)
    report = headwise.detect(trained).to_json()
    assert set(report["stages"]) == {"function", "loss", "heads"}
