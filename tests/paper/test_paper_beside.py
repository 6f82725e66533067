"""One run beside the published numbers of its experiment."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwise import FlowConfig, keep_flow
from headwise.paper.beside import main
from headwise.paper.levels import LEVELS

RUN = Path(__file__).parents[1] / "browser" / "data" / "minimal" / "0ea5daec-s0"


def test_every_published_number_of_the_experiment_has_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(RUN)]) == 0
    out = capsys.readouterr().out
    assert "another task than that of the figures" in out
    for level in (one for table in LEVELS.values() for one in table if one.experiment == "minimal"):
        assert level.quantity in out


def test_a_run_without_published_numbers_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = keep_flow(FlowConfig(T=5, t_end=3.0), out=tmp_path).run
    assert main([str(run)]) == 2
    assert "no numbers of this run are published; take one of minimal, " in capsys.readouterr().err
    assert main([]) == 2
