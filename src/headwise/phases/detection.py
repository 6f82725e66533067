"""`detect` and `detect_seeds`: from one trajectory, or several seeds, to a report to read and to compute with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import xarray as xr

from headwise.core.errors import ConfigError
from headwise.core.events import Label
from headwise.core.head_counts import counted_heads
from headwise.core.named_options import named_options
from headwise.core.trajectory import attribute
from headwise.phases.acquired_roles import RoleEvent, find_roles, thresholds_of_roles
from headwise.phases.agreement import compare
from headwise.phases.blind_spots import blind_spots
from headwise.phases.climbs import find_climbs
from headwise.phases.compensation import Compensation, find_compensation
from headwise.phases.competition import competition_index, mean_overlap
from headwise.phases.config import DEFAULT, Thresholds
from headwise.phases.events import Events, find_events, open_changes
from headwise.phases.function import FunctionView, read_function
from headwise.phases.heads import HeadsView, read_heads
from headwise.phases.importance import open_importance, read_importance
from headwise.phases.loss import read_loss_source
from headwise.phases.loss_source import loss_source
from headwise.phases.predictor_text import open_comparison
from headwise.phases.role_names import lag_of
from headwise.phases.run_report import RunReport
from headwise.phases.seeds_report import SeedsReport, summarise_seeds
from headwise.phases.sources import (
    Groups,
    HeadSource,
    head_source,
    in_time_order,
    largest_lags,
    predictor_distances,
    value_coefficients,
)
from headwise.phases.transitions import Part, drop_parts, find_transitions, pattern_parts, role_parts
from headwise.phases.views import View, ViewName, unreadable


@named_options
def detect(run: xr.Dataset, *, groups: Groups = "given", thresholds: Thresholds = DEFAULT) -> RunReport:
    """Stages, phases and events of one trajectory; `print` shows them as a timeline.

    A variable that is missing is named in the notes, and the views that remain possible are made. `groups="found"`
    ignores the groups a trajectory names and finds the patterns in its attention.

    >>> from headwise import FlowConfig, detect, simulate
    >>> report = detect(simulate(FlowConfig(start="B", t_end=400.0)))
    >>> report
    <RunReport: steps 0 to 400; stages: function 0, loss 3, heads 2; 1 offshoot; views agree>
    >>> [(round(o.step), o.head, o.source, o.target) for o in report.offshoots]
    [(168, 3, 1, 2)]
    >>> table = report.to_frame()
    >>> table[table.kind == "offshoot"][["block", "head", "from", "to"]].values.tolist()
    [[1, 3, 1, 2]]
    """
    if not isinstance(run, xr.Dataset) or "seed" in run.dims:
        what = "a seed dimension" if isinstance(run, xr.Dataset) else f"a {type(run).__name__}"
        fix = "several seeds go to detect_seeds"
        if isinstance(run, str | Path):
            fix = "headwise.load reads a run from its path"
        elif hasattr(run, "trajectory"):
            fix = "give its .trajectory"
        raise ConfigError(f"detect takes one trajectory, not {what}; {fix}")
    trajectory = in_time_order(run)
    steps = trajectory["step"].values.astype(float)
    function = _function(trajectory, steps, thresholds)
    losses = loss_source(trajectory)
    loss = unreadable(losses) if isinstance(losses, str) else read_loss_source(losses, thresholds)
    moves = None if isinstance(losses, str) or not loss.possible else losses.moves
    source = head_source(trajectory, groups)
    heads, blocks, events = _heads(source, thresholds, moves)
    roles, open_roles = find_roles(source, trajectory, thresholds, loss_moves=moves)
    notes = blind_spots(trajectory, source, thresholds)
    index_steps, index = (np.zeros(0), None) if isinstance(source, str) else _index(source, trajectory, notes)
    views: dict[ViewName, View] = {"function": function, "loss": loss, "heads": heads}
    compensation = _compensations(trajectory, events, notes)
    return RunReport(
        start=float(steps[0]),
        end=float(steps[-1]),
        function=function,
        loss=loss,
        heads=heads,
        blocks=blocks,
        events=events,
        compensation=tuple(compensation),
        index_steps=index_steps,
        index=index,
        agreement=compare(_with_plateaus(views, function), float(steps[-1] - steps[0]), thresholds),
        notes=(*(note for view in views.values() for note in view.notes), *notes),
        roles=roles,
        transitions=tuple(find_transitions(_taken_up(source, blocks, roles, trajectory), drop_parts(loss))),
        undecided=(
            *function.undecided,
            *loss.undecided,
            *(item for block in events for item in open_changes(block)),
            *open_roles,
            *open_importance([str(note) for note in attribute(trajectory, "notes") or []]),
        ),
        importance=read_importance(trajectory),
        found=not isinstance(source, str) and source.found,
        climbs=find_climbs(losses) if not isinstance(losses, str) and loss.possible else (),
    )


@named_options
def detect_seeds(
    runs: xr.Dataset | Iterable[xr.Dataset], *, groups: Groups = "given", thresholds: Thresholds = DEFAULT
) -> SeedsReport:
    """Stages, phases and events of several seeds of one experiment: medians, intervals, shares, and who disagrees.

    `runs` is a sequence of trajectories or one Dataset with a `seed` dimension; a single run is a report of one seed.

    >>> from headwise import FlowConfig, detect_seeds, simulate
    >>> flows = [simulate(FlowConfig(start="noise", t_end=400.0), seed=seed) for seed in (0, 1)]
    >>> report = detect_seeds(flows)
    >>> report
    <SeedsReport: 2 seeds; stages: function 0, loss 3, heads 2; 1 offshoot; 0 seeds unlike most>
    >>> [(o["from"], o["to"], o["share"]) for o in report.to_json()["offshoots"]]
    [(1, 2, 1.0)]
    """
    trajectories = _seeds_of(runs)
    reports = [detect(run, groups=groups, thresholds=thresholds) for run in trajectories]
    names = _seed_names(trajectories)
    _require_one_shape(reports, names)
    return summarise_seeds(reports, names)


def _seeds_of(runs: xr.Dataset | Iterable[xr.Dataset]) -> list[xr.Dataset]:
    if isinstance(runs, xr.Dataset):
        return [runs.isel(seed=i) for i in range(runs.sizes["seed"])] if "seed" in runs.dims else [runs]
    trajectories = list(runs) if isinstance(runs, Iterable) else [runs]
    for run in trajectories:
        if not isinstance(run, xr.Dataset):
            raise ConfigError(f"detect_seeds takes trajectories, not a {type(run).__name__}; `load` reads a stored run")
    if not trajectories:
        raise ConfigError("detect_seeds needs at least one trajectory; the list is empty")
    return trajectories


def _seed_names(runs: Sequence[xr.Dataset]) -> list[int | str]:
    """The seed of each run, or its place in the list (from 1) where seeds are unknown or not all different."""
    names = [run["seed"].item() if "seed" in run.coords else attribute(run, "seed") for run in runs]
    if any(name is None for name in names) or len(set(names)) < len(names):
        return list(range(1, len(runs) + 1))
    return names


def _require_one_shape(reports: Sequence[RunReport], names: Sequence[int | str]) -> None:
    """Heads are matched one to one, so runs need equally many; a run whose heads could not be read is left out."""
    shapes = [
        (name, counted_heads([block.shares.shape[1] for block in report.blocks]))
        for name, report in zip(names, reports, strict=True)
        if report.blocks
    ]
    for name, shape in shapes:
        if shape != shapes[0][1]:
            raise ConfigError(
                f"detect_seeds compares runs of one experiment: seed {name} has {shape} where seed {shapes[0][0]} has "
                f"{shapes[0][1]}"
            )


def _function(trajectory: xr.Dataset, steps: np.ndarray, thresholds: Thresholds) -> FunctionView:
    kl, names, notes = predictor_distances(trajectory)
    if kl is None:
        known = open_comparison([str(note) for note in attribute(trajectory, "notes") or []])
        return FunctionView(notes=tuple(notes), possible=False, reason="no kl was recorded", undecided=known)
    between = attribute(trajectory, "between_predictors")
    return read_function(steps, kl, names, thresholds, between=None if between is None else np.asarray(between))


def _with_plateaus(views: dict[ViewName, View], function: FunctionView) -> dict[ViewName, View]:
    """The views whose stages can be compared: which n-gram predictor is nearest changes without any plateau."""
    return {name: view for name, view in views.items() if name != "function"} if function.nearest else views


def _heads(
    source: HeadSource | str, thresholds: Thresholds, loss_moves: bool | None
) -> tuple[HeadsView, tuple[HeadsView, ...], tuple[Events, ...]]:
    """Stages over all blocks together (a pattern is held wherever a head holds it); events block by block.

    Found patterns are lags above chance and are held from where a head has a lag as its role.
    """
    if isinstance(source, str):
        return HeadsView(notes=(source,), possible=False), (), ()
    notes = list(source.notes)
    steps, shares = source.steps, source.shares
    if len(steps) < thresholds.evaluations:
        notes.append(
            f"heads: {len(steps)} finite evaluations are too few to time a change; only what heads copy at the last "
            f"one is read; evaluate at least {thresholds.evaluations} times"
        )
        steps, shares = steps[-1:], shares[-1:]
    count, heads = len(shares), source.heads
    if max(heads) == 1:
        notes.append("heads: one head has nobody to compete with; competition and offshoots need two")
    own = thresholds_of_roles(thresholds) if source.found else thresholds
    by_block = [shares[:, b, :own_heads] for b, own_heads in enumerate(heads)]
    together = read_heads(steps, np.concatenate(by_block, axis=1), source.patterns, own)
    each = tuple(read_heads(steps, of_block, source.patterns, own) for of_block in by_block)
    lags = largest_lags(source, count)
    events = tuple(
        find_events(one, own_heads, own, b + 1, loss_moves=loss_moves, largest_lag=None if lags is None else lags[:, b])
        for b, (one, own_heads) in enumerate(zip(each, heads, strict=True))
    )
    return replace(together, notes=(*notes, *together.notes)), each, events


def _taken_up(
    source: HeadSource | str, blocks: Sequence[HeadsView], roles: Sequence[RoleEvent], trajectory: xr.Dataset
) -> list[Part]:
    """What heads take up: roles, and where groups are known their patterns instead of single lags."""
    start = float(trajectory["step"].values[0])
    given = not isinstance(source, str) and not source.found
    told = [role for role in roles if not given or lag_of(role.role) is None]
    parts = role_parts(told, start=start, several_blocks=trajectory.sizes.get("block", 1) > 1)
    return [*pattern_parts(blocks, start=start), *parts] if given else parts


def _index(source: HeadSource, trajectory: xr.Dataset, notes: list[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """Steps and competition index (step, block), from attention by lag or from a recorded overlap.

    Where some blocks have several heads and others one alone, the index is of those that have several.
    """
    several = [block for block, heads in enumerate(source.heads) if heads > 1]
    if not several:
        notes.append("competition index: one head has no overlap with another; it is left out")
        return source.steps, None
    if source.attention is not None and source.chance is not None:
        index = [competition_index(source.attention[:, b, : source.heads[b]], source.chance[:, b]) for b in several]
        return source.steps, np.stack(index, axis=1)
    if "head_overlap" in trajectory:
        overlap = trajectory["head_overlap"].sel(step=source.steps).values
        own = [overlap[:, b, : source.heads[b], : source.heads[b]] for b in several]
        if all(np.isfinite(of_block).all() for of_block in own):
            notes.append("competition index: read from head_overlap; even attention counts as overlap there")
            return source.steps, np.stack([mean_overlap(of_block) for of_block in own], axis=1)
    notes.append("competition index: needs attention_by_lag or head_overlap; it is left out")
    return source.steps, None


def _compensations(trajectory: xr.Dataset, events: Sequence[Events], notes: list[str]) -> list[Compensation]:
    if not any(block.offshoots for block in events):
        return []
    source = value_coefficients(trajectory)
    if isinstance(source, str):
        notes.append(source)
        return []
    steps, values, labels = source
    named: list[Label] = [offshoot.target for block in events for offshoot in block.offshoots]
    if not all(label in labels for label in named):
        notes.append("compensation: found patterns have no value coefficients; give the groups")
        return []
    found = [find_compensation(steps, values[:, b], block.offshoots, labels) for b, block in enumerate(events)]
    return sorted((item for block in found for item in block), key=lambda item: item.offshoot.step)
