"""Figures of stored runs and of trajectories: what the commands' `--figure` and `--overlay` draw.

Each function returns a matplotlib `Figure`, which a notebook shows as it is. With a file to write it `to` (png, pdf or
svg) the numbers it shows are written beside it as CSV.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import xarray as xr

from headwise.core.errors import ConfigError
from headwise.core.named_options import named_options
from headwise.core.trajectory import attribute
from headwise.flow.config import FlowConfig
from headwise.phases.detection import detect
from headwise.phases.sources import Groups
from headwise.store import RunDirectory, load_trajectory
from headwise.store.given_source import given_source, source_kind
from headwise.view.sheets.branches import branches_sheet
from headwise.view.sheets.phases import phase_sheet
from headwise.view.sheets.run import run_sheet
from headwise.view.sheets.theory import theory_sheet
from headwise.view.write import figure_path, write_drawn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headwise.phases.run_report import RunReport
    from headwise.view.panels import Sheet

DEFAULT = FlowConfig()


@named_options
def draw_run(run: Path | str | xr.Dataset, to: Path | str | None = None) -> Figure:
    """A training run's distances and attention maps, a flow's attention, values and loss, or a probe's lags by head.

    >>> from headwise import FlowConfig, draw_run, simulate
    >>> figure = draw_run(simulate(FlowConfig(T=5, t_end=30.0)))
    >>> len(figure.axes) > 2
    True
    """
    return _drawn(run_sheet(_trajectory(run)), to)


@named_options
def draw_phases(
    run: Path | str | xr.Dataset,
    to: Path | str | None = None,
    *,
    groups: Groups = "given",
    report: RunReport | None = None,
) -> Figure:
    """The timeline of one run: which pattern each head copies, the stages of each view, and the competition index.

    `groups` is what `detect` takes; a report that `detect` has made already is drawn as it is.

    >>> from headwise import FlowConfig, draw_phases, simulate
    >>> figure = draw_phases(simulate(FlowConfig(T=5, t_end=30.0)))
    >>> len(figure.axes) > 1
    True
    """
    trajectory = _trajectory(run)
    return _drawn(phase_sheet(trajectory, report or detect(trajectory, groups=groups)), to)


@named_options
def draw_theory(
    config: FlowConfig = DEFAULT,
    seed: int = 0,
    to: Path | str | None = None,
    *,
    notify: Callable[[str], None] = lambda line: None,
) -> Figure:
    """The paper's simplified systems over the flow that they simplify; `notify` is called with each one's deviation.

    The systems start from states between the times that are kept of a flow, so the flow is solved for it.

    >>> from headwise import FlowConfig, draw_theory
    >>> figure = draw_theory(FlowConfig(start="B", t_end=301.0, rtol=1e-6, atol=1e-9))
    >>> len(figure.axes) >= 4
    True
    """
    from headwise.flow.overlay import overlay_stages
    from headwise.flow.simulate import solve_flow, to_trajectory

    flow = solve_flow(config, seed)
    overlays = overlay_stages(flow)
    for overlay in overlays:
        notify(str(overlay))
    for stage in sorted({2, 3} - {overlay.stage for overlay in overlays}):
        notify(f"stage {stage}: no head leaves, so there is nothing to overlay")
    return _drawn(theory_sheet(overlays, to_trajectory(flow)), to)


@named_options
def draw_branches(runs: Sequence[Path | str | xr.Dataset], to: Path | str | None = None) -> Figure:
    """A run, given first, and branches of it on one time axis, with what differs from the run as curves.

    >>> import tempfile
    >>> from headwise import branch, draw_branches, experiment, list_runs, train
    >>> small = {"task.d": 6, "task.T": 5, "train.samples": 60, "train.steps": 20, "measure.test_samples": 30}
    >>> with tempfile.TemporaryDirectory() as out:
    ...     parent = train(experiment("minimal", "redrawn", changes=small), out=out, progress="off")
    ...     [held] = branch(list_runs(out)[0].path, 10, do=["freeze:heads=1"], progress="off").branches
    ...     figure = draw_branches([parent, held.trajectory])
    >>> len(figure.axes)
    4
    """
    if isinstance(runs, str | Path | xr.Dataset) or not runs:
        raise ConfigError("draw_branches takes a list: a run, then branches of it")
    parent, *branches = (_trajectory(run) for run in runs)
    sheet = branches_sheet(parent, branches)
    for given, branch in zip(runs[1:], branches, strict=True):
        _require_parent(runs[0], given, str(attribute(branch, "branch")["parent"]))
    return _drawn(sheet, to)


def _require_parent(first: Path | str | xr.Dataset, given: Path | str | xr.Dataset, digest: str) -> None:
    """Refuse a branch of another run; a trajectory without its run directory does not say which run it is."""
    if not isinstance(first, str | Path) or source_kind(given_source(first)) != "directory":
        return
    run = RunDirectory(given_source(first))
    if run.beginning.identity(run.beginning.header()).digest != digest:
        called = given if isinstance(given, str | Path) else "a trajectory"
        raise ConfigError(f"{called} is a branch of run {digest[:12]}…, which is not {first}; give that run first")


def _trajectory(run: Path | str | xr.Dataset) -> xr.Dataset:
    found: object = getattr(run, "trajectory", run)
    if isinstance(found, xr.Dataset):
        return found
    assert not isinstance(run, xr.Dataset)
    return load_trajectory(run)


def _drawn(sheet: Sheet, to: Path | str | None) -> Figure:
    from headwise.view.draw import draw_sheet

    path = None if to is None else figure_path(to)
    figure = draw_sheet(sheet)
    if path is not None:
        write_drawn(sheet, figure, [path])
    return figure
