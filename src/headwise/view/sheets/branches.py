"""A run and branches of it on one time axis: the moment of each intervention is marked, differences are curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headwise.core.branch_words import done_in
from headwise.core.errors import ConfigError
from headwise.core.trajectory import attribute
from headwise.view.labels import axis_label, time_label
from headwise.view.panels import Curve, Mark, Panel, Plot, Sheet
from headwise.view.parts import by_head_and_group, head_and_group_entries, require
from headwise.view.style import LOSS, run_colour

if TYPE_CHECKING:
    import xarray as xr

LINE, LETTERS = 0.13, 45
"""Inches of a line of a legend, and letters that it has at most."""

ZERO = Mark("zero", 0.0, axis="y", style="-", width=0.6)


def branches_sheet(parent: xr.Dataset, branches: Sequence[xr.Dataset]) -> Sheet:
    """Excess loss of all, its difference from the parent's, and attention of each branch and block with its own."""
    if not branches:
        raise ConfigError("there is nothing to compare: give at least one branch beside its parent")
    for run in (parent, *branches):
        require(run, "excess_loss", "attention_by_group", figure="a figure of branches")
    names = [branch_name(branch, number) for number, branch in enumerate(branches, start=1)]
    marks = tuple(Mark(f"begin of {name}", _begin(branch)) for name, branch in zip(names, branches, strict=True))
    time = time_label(parent)
    colours = [run_colour(number) for number in range(len(branches))]
    losses = [Curve("parent", _steps(parent), parent["excess_loss"].values, colour=LOSS, width=2.2, alpha=0.5)]
    losses += [
        Curve(name, _steps(branch), branch["excess_loss"].values, colour=colour)
        for name, branch, colour in zip(names, branches, colours, strict=True)
    ]
    gaps = []
    for name, branch, colour in zip(names, branches, colours, strict=True):
        steps, mine, its = shared(parent, branch, "excess_loss")
        gaps.append(Curve(name, steps, mine - its, colour=colour))
    legend = Plot.height + LINE * sum(1 + len(name) // LETTERS for name in names)
    rows: list[tuple[Panel, ...]] = [
        (
            Plot(
                "parent and branches",
                time,
                axis_label("excess_loss"),
                tuple(losses),
                (0, None),
                marks=marks,
                height=legend,
            ),
            Plot(
                "branch minus parent",
                time,
                "difference",
                tuple(gaps),
                marks=(*marks, ZERO),
                legend="none",
                height=legend,
                name="loss difference",
            ),
        )
    ]
    for name, branch, mark in zip(names, branches, marks, strict=True):
        rows += [_attention(parent, branch, block, name, mark) for block in range(branch.sizes["block"])]
    return Sheet(tuple(rows))


def _attention(parent: xr.Dataset, branch: xr.Dataset, block: int, name: str, mark: Mark) -> tuple[Plot, Plot]:
    """Attention of one block of a branch, and its difference from the parent's."""
    order = ("step", "block", "head", "group")
    parent, branch = parent.transpose(*order, ...), branch.transpose(*order, ...)
    steps, mine, its = shared(parent, branch, "attention_by_group")
    own = branch["attention_by_group"].values[:, block]
    where = f", block {block + 1}" if branch.sizes["block"] > 1 else ""
    entries = head_and_group_entries(*own.shape[1:])
    return (
        Plot(
            f"{name}{where}",
            time_label(parent),
            axis_label("attention_by_group"),
            by_head_and_group(_steps(branch), own),
            (-0.02, 1.02),
            marks=(mark,),
            entries=entries,
            name=f"attention, {name}{where}",
        ),
        Plot(
            f"branch minus parent{where}",
            time_label(parent),
            "difference",
            by_head_and_group(steps, (mine - its)[:, block]),
            (-1.02, 1.02),
            marks=(mark, ZERO),
            entries=entries,
            name=f"attention difference, {name}{where}",
        ),
    )


def branch_name(branch: xr.Dataset, number: int) -> str:
    """What is done in a branch, with its place among those shown."""
    about = attribute(branch, "branch")
    if not isinstance(about, dict):
        raise ConfigError("a figure of branches shows a parent first and then its branches; one of them is no branch")
    return f"{number}: {done_in(about)}"


def shared(parent: xr.Dataset, branch: xr.Dataset, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The steps that both have measured, and the values of the branch and of its parent there."""
    mine, its = _steps(branch), _steps(parent)
    common = np.intersect1d(mine, its)
    if not common.size:
        raise ConfigError("parent and branch were never measured at the same step, so there is no difference to draw")
    return (
        common,
        branch[name].values[np.isin(mine, common)],
        parent[name].values[np.isin(its, common)],
    )


def _steps(run: xr.Dataset) -> np.ndarray:
    return np.asarray(run["step"].values, dtype=float)


def _begin(branch: xr.Dataset) -> float:
    return float(attribute(branch, "branch")["step"])
