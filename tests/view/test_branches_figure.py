"""A run and its branches on one time axis: the marks are where branches begin, and differences are differences."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import tiny

from headwise.cli.main import main
from headwise.core.errors import ConfigError
from headwise.store import load_trajectory
from headwise.study.branch import Branch, branch
from headwise.study.runner import execute
from headwise.view.figures import draw_branches
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


@pytest.mark.parametrize("actions", [["tie"], ["freeze:heads=1:part=values:until=20", "clamp:heads=2:to=past", "tie"]])
def test_whatever_is_done_leaves_room_for_the_panels(actions: list[str], held: Branch) -> None:
    """Long words used to squeeze panels to nothing and to lie on each other; layouts that fail warn, an error here."""
    done = held.trajectory.assign_attrs(branch=json.dumps({"parent": "0", "step": 10, "actions": actions}))
    figure = draw_branches([held.parent_trajectory, *[done] * 3])
    edges = figure.bbox.bounds
    for ax in figure.axes:
        assert ax.get_window_extent().height > 0.08 * edges[3] / 2
        legend = ax.get_legend()
        for box in [ax.title.get_window_extent(), *([] if legend is None else [legend.get_window_extent()])]:
            assert box.x0 >= -2
            assert box.x1 <= edges[2] + 2
    left, right = figure.axes[2], figure.axes[3]
    assert left.title.get_window_extent().x1 < right.title.get_window_extent().x0


def test_every_block_is_shown(tmp_path: Path) -> None:
    run = execute(tiny("full", train__steps=9, model__blocks=2), tmp_path)
    [found] = branch(run.path, 3, do=["freeze:heads=1:blocks=2:part=attention"], progress="off").branches
    sheet = branches_sheet(found.parent_trajectory, [found.trajectory])
    _, *rows = sheet.rows
    assert [row[0].title.rpartition(", ")[2] for row in rows] == ["block 1", "block 2"]
    for block, (own, gap) in enumerate(rows):
        assert isinstance(own, Plot)
        assert isinstance(gap, Plot)
        for plot, expected in (
            (own, found.trajectory["attention_by_group"]),
            (gap, found.trajectory["attention_by_group"] - found.parent_trajectory["attention_by_group"]),
        ):
            wanted = expected.isel(block=block).transpose("head", "group", "step").values
            assert np.array_equal([curve.y for curve in plot.curves], wanted.reshape(-1, wanted.shape[-1]))


def test_a_branch_of_another_run_is_refused(held: Branch, tmp_path: Path) -> None:
    other = execute(tiny(train__steps=24), tmp_path)
    with pytest.raises(
        ConfigError, match=f"{held.run.name} is a branch of run .* which is not .*; give that run first"
    ):
        draw_branches([other.path, held.run])
    [second] = branch(held.run, 15, do=["sham"], progress="off").branches
    with pytest.raises(ConfigError, match="give that run first"):
        draw_branches([held.parent, second.trajectory])
    assert draw_branches([held.run, second.run])
    for given in ([], str(held.run)):
        with pytest.raises(ConfigError, match="takes a list: a run, then branches of it"):
            draw_branches(given)
