"""A page of runs as one JSON document: coordinates and labels in the open, curves and attention maps packed.

    sides[]            one per config; `runs[]` are its seeds, heads in the order of the reference seed
      coordinates      what each dimension's entries are called, by people
      groups           lags of each group, or null where nobody knows them
      runs[].curves    every variable over `step` that has a panel, packed with `encode.pack`
      runs[].maps      the same of variables over `snapshot`
      runs[].phases    the detector's timeline of the run
    dimensions, variables, panels    what `panels` says about the variables of these runs

Numbers are kept as 32-bit floats, seven digits, which is what attention maps are stored in anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.trajectory import attribute
from headwise.phases.roles import own_order
from headwise.view.report.encode import pack
from headwise.view.report.happenings import Happenings, read_happenings
from headwise.view.report.labels import coordinate_labels, phase_sentence
from headwise.view.report.members import Member
from headwise.view.report.panels import describe_panels, drawn
from headwise.view.report.sides import Side
from headwise.view.report.thin import keep_moments

if TYPE_CHECKING:
    import xarray as xr

MAP_BYTES = {"run": 1_000_000, "study": 3_200_000}
CURVE_BYTES = {"run": 250_000, "study": 1_000_000}
"""Packed bytes (base64) that all maps and all curves of a page may take: a run below 1.5 MB, ten seeds below 5 MB."""

COMPETITION_INDEX = "competition_index"
"""The one variable on a page that the detector computes."""


def page_data(sides: Sequence[Side]) -> dict[str, Any]:
    """Everything the page draws."""
    runs = sum(len(side.members) for side in sides)
    size = "run" if runs == 1 else "study"
    share = 1 if size == "run" else runs
    measured = {str(name) for side in sides for member in side.members for name in member.trajectory.data_vars}
    return {
        "format": 1,
        **describe_panels({*measured, COMPETITION_INDEX}),
        "sides": [
            _side(side, map_bytes=MAP_BYTES[size] // share, curve_bytes=CURVE_BYTES[size] // share) for side in sides
        ],
    }


def _side(side: Side, *, map_bytes: int, curve_bytes: int) -> dict[str, Any]:
    first = side.members[0].trajectory
    seeds = [number if m.seed is None else m.seed for number, m in enumerate(side.members)]
    happenings = _happenings([member.trajectory for member in side.members], seeds)
    groups = attribute(first, "groups")
    return {
        "label": side.label,
        "source": str(attribute(first, "source") or "unknown"),
        "unit": "time" if attribute(first, "source") == "flow" else "step",
        "groups": groups if _are_groups(groups) else None,
        "coordinates": coordinate_labels(first),
        "runs": [
            _run(side.members[i], happenings, i, seed=seeds[i], map_bytes=map_bytes, curve_bytes=curve_bytes)
            for i in range(len(seeds))
        ],
        "study": happenings.study,
        "notes": happenings.notes,
    }


def _happenings(trajectories: Sequence[xr.Dataset], seeds: Sequence[int | str]) -> Happenings:
    if all(t.sizes.get("step", 0) > 0 for t in trajectories):
        return read_happenings(trajectories, seeds)
    roles = [own_order(trajectory) for trajectory in trajectories]
    return Happenings([{} for _ in trajectories], None, roles, ["phases: nothing was measured over time"])


def _run(
    member: Member, happenings: Happenings, number: int, *, seed: int | str, map_bytes: int, curve_bytes: int
) -> dict[str, Any]:
    phases, roles = dict(happenings.runs[number]), happenings.roles[number]
    index = phases.pop("index", None)
    trajectory = member.trajectory
    events = [offshoot["step"] for offshoot in phases.get("offshoots", [])]
    steps = _times(trajectory, "step")
    measured = drawn(str(name) for name in trajectory.data_vars)
    curves = {row.name: by_role(trajectory[row.name], roles) for row in measured if row.dimensions[0] == "step"}
    if index and index["value"]:
        place = {step: i for i, step in enumerate(index["step"])}
        values = [index["value"][place[step]] if step in place else np.nan for step in steps.tolist()]
        curves[COMPETITION_INDEX] = np.array(values)
    kept, block = pack_within(curves, steps, curve_bytes, always=events)
    maps: dict[str, Any] | None = None
    pictures = [row.name for row in measured if row.dimensions[0] == "snapshot" and trajectory[row.name].size]
    if pictures:
        snapshots = _times(trajectory, "snapshot")
        arrays = {name: by_role(trajectory[name], roles) for name in pictures}
        chosen, packed = pack_within(arrays, snapshots, map_bytes, always=events)
        maps = {"steps": snapshots[chosen].tolist(), "of": len(snapshots), **packed}
    return {
        "label": f"seed {seed}" if member.seed is not None else member.label,
        "seed": seed,
        "status": member.status,
        "curves": {"steps": steps[kept].tolist(), "of": len(steps), **block},
        "maps": maps,
        "phases": phases,
        "summary": phase_sentence(phases, several_blocks=len(roles) > 1),
        "roles": [[head + 1 for head in own] for own in roles],
    }


def by_role(variable: xr.DataArray, roles: Sequence[Sequence[int]]) -> np.ndarray:
    """A variable's values with the heads of each block in the order of their roles."""
    values = np.array(variable.values, dtype=np.float32)
    dims = list(variable.dims)
    for name in ("head", "head2"):
        if name not in dims:
            continue
        block, head = dims.index("block"), dims.index(name)
        for number, order in enumerate(roles):
            if list(order) != sorted(order):
                place = [slice(None)] * values.ndim
                place[block] = number  # type: ignore[call-overload]
                # With the block taken out, the head axis moves one to the left when it came after it.
                values[tuple(place)] = np.take(values[tuple(place)], list(order), axis=head - (block < head))
    return values


def pack_within(
    arrays: dict[str, np.ndarray], times: np.ndarray, budget: int, *, always: Sequence[float]
) -> tuple[np.ndarray, dict[str, Any]]:
    """Packed arrays of at most `budget` bytes, with as many of the moments as fit; also which moments."""
    kept = np.arange(len(times))
    block = pack(arrays)
    while len(block["data"]) > budget and len(kept) > 2:
        count = min(int(len(kept) * budget / len(block["data"])), len(kept) - 1)
        kept = keep_moments(times, count, always=always)
        block = pack({name: array[kept] for name, array in arrays.items()})
    return kept, block


def _times(trajectory: xr.Dataset, dim: str) -> np.ndarray:
    return np.asarray(trajectory[dim].values, dtype=float) if dim in trajectory.coords else np.zeros(0)


def _are_groups(groups: Any) -> bool:
    return isinstance(groups, list) and bool(groups) and all(isinstance(group, list) for group in groups)
