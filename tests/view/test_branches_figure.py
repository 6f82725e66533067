"""A run and its branches on one time axis: the marks are where branches begin, and differences are differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.conftest import tiny

from headwise.cli.main import main
from headwise.core.errors import ConfigError
from headwise.store import load_trajectory
from headwise.study.branch import Branch, branch
from headwise.study.runner import execute
from headwise.view.panels import Plot
from headwise.view.report.page import page
from headwise.view.sheets.branches import branches_sheet


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Branch:
    run = execute(tiny(train__steps=24, model__init_scale=0.3), tmp_path_factory.mktemp("runs"))
    [found] = branch(run.path, 10, do=["scale:heads=1:by=0"], progress="off").branches
    return found


def test_differences_and_marks(held: Branch) -> None:
    sheet = branches_sheet(held.parent_trajectory, [held.trajectory])
    plots = {panel.name or panel.title: panel for panel in sheet.panels if isinstance(panel, Plot)}
    for plot in plots.values():
        assert 10 in [mark.at for mark in plot.marks if mark.axis == "x"]
    [gap] = plots["loss difference"].curves
    parent, own = held.parent_trajectory, held.trajectory
    for step, value in zip(gap.x, gap.y, strict=True):
        assert value == float(own.excess_loss.sel(step=step)) - float(parent.excess_loss.sel(step=step))
    assert list(gap.x) == [12, 15, 18, 21, 24]
    assert np.abs(gap.y).max() > 0


def test_a_sham_differs_by_nothing(held: Branch) -> None:
    [sham] = branch(held.parent, 10, do=["sham"], progress="off").branches
    sheet = branches_sheet(held.parent_trajectory, [sham.trajectory, held.trajectory])
    [difference] = [panel for panel in sheet.panels if panel.name == "loss difference"]
    assert isinstance(difference, Plot)
    assert not difference.curves[0].y.any()
    assert difference.curves[1].y.any()


def test_the_command_draws_and_the_page_names_what_was_done(held: Branch, tmp_path: Path) -> None:
    figure = tmp_path / "branch.png"
    given = ["branch", str(held.parent), "--at", "10", "--do", "scale:heads=1:by=0", "--figure", str(figure), "-q"]
    assert main(given) == 0
    assert figure.stat().st_size > 10_000
    assert "loss difference" in figure.with_suffix(".csv").read_text()
    written = page([held.parent, held.run], tmp_path / "page.html")
    assert "branch at step 10: scale:heads=1:by=0" in written.page.read_text(encoding="utf-8")


def test_runs_that_are_no_branches(held: Branch) -> None:
    parent = load_trajectory(held.parent)
    with pytest.raises(ConfigError, match="one of them is no branch"):
        branches_sheet(parent, [parent])
    with pytest.raises(ConfigError, match="give at least one branch"):
        branches_sheet(parent, [])
