"""A page of runs as one JSON document: coordinates and labels in the open, curves and attention maps packed.

    schema             version of this document (`html.SCHEMA`); the page's script refuses any other
    dimensions, variables, panels    what `panels` says about the variables of these runs
    studies[]          one per config; `runs[]` are its seeds
      watched          whether this is somebody's own model, whose heads are also called L0H3
      kinds            roles that its heads have: {role, text, short, colour}, in the order in which they appear
      coordinates      what each dimension's entries are called
      heads            how many heads each block has; arrays have as many as the largest block
      groups           lags of each group, or null where nobody knows them
      branch           of a branch `step`, `actions` and `parent`, the place of its run among studies or null; else null
      report           `SeedsReport.to_json()` where there are several seeds, else null
      runs[].report    `RunReport.to_json()`, or null where nothing could be detected; its heads have their own numbers
      runs[].roles     for each block the head in each role; curves and maps hold heads in this order
      runs[].curves    every variable over `step` that has a panel, packed with `encode.pack`
      runs[].maps      the same of variables over `snapshot`
      runs[].examples  of each kept sequence its number in the batch and what its tokens are called

Reports come without their competition index, which is among the curves. Numbers are kept as 32-bit floats, seven
digits, which is what attention maps are stored in anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.head_counts import head_counts
from headwise.core.trajectory import attribute
from headwise.core.variables import Variable
from headwise.phases.run_report import RunReport
from headwise.phases.seeds_report import SeedsReport
from headwise.view.labels import time_label
from headwise.view.report.branches import branch_of
from headwise.view.report.encode import pack
from headwise.view.report.examples import example_labels
from headwise.view.report.labels import coordinate_labels
from headwise.view.report.members import Member
from headwise.view.report.panels import BANDS, describe_panels, drawn, split_by, split_name
from headwise.view.report.role_kinds import role_kinds
from headwise.view.report.studies import Study
from headwise.view.report.study_phases import StudyPhases
from headwise.view.report.thin import keep_moments
from headwise.view.report.watched import lags_that_matter, noise_band, roles_by_height

if TYPE_CHECKING:
    import xarray as xr

    from headwise.phases.roles import Roles

MAP_BYTES = {"run": 1_000_000, "study": 3_200_000, "watched": 700_000}
CURVE_BYTES = {"run": 250_000, "study": 1_000_000, "watched": 2_400_000}
"""Packed bytes (base64) that all maps and all curves of a page may take: a run below 1.5 MB, ten seeds below 5 MB, and
a watched model of 144 heads below 3 MB, where maps of examples take their part from that of the curves.
"""

COMPETITION_INDEX = "competition_index"
"""The one variable on a page that the detector computes."""


def page_data(studies: Sequence[Study], phases: Sequence[StudyPhases]) -> dict[str, Any]:
    """Everything the page draws, from the studies and what was detected in each."""
    members = [member for study in studies for member in study.members]
    size = "run" if len(members) == 1 else "study"
    watched = any(member.is_foreign for member in members)
    measured = {str(name) for member in members for name in member.trajectory.data_vars}
    map_bytes, curve_bytes = _budgets("watched" if watched else size, examples="example_attention" in measured)
    map_bytes, curve_bytes = map_bytes // len(members), curve_bytes // len(members)
    return {
        **describe_panels(
            {*measured, COMPETITION_INDEX},
            watched=watched,
            entries={"role": roles_by_height(m.trajectory for m in members), "metric": _metric_names(members)},
        ),
        "studies": [
            {**_study(study, found, map_bytes=map_bytes, curve_bytes=curve_bytes), "branch": branch_of(study, studies)}
            for study, found in zip(studies, phases, strict=True)
        ],
    }


def _metric_names(members: Sequence[Member]) -> list[str]:
    """The metrics of one's own that any run has, in the order in which they were given."""
    named = [member.trajectory["metric"].values for member in members if "metric" in member.trajectory.coords]
    return list(dict.fromkeys(str(name) for names in named for name in names))


def _budgets(size: str, *, examples: bool) -> tuple[int, int]:
    """Bytes of all maps and of all curves."""
    return MAP_BYTES[size], CURVE_BYTES[size] - (MAP_BYTES[size] if examples else 0)


def _study(study: Study, phases: StudyPhases, *, map_bytes: int, curve_bytes: int) -> dict[str, Any]:
    watched = study.members[0].is_foreign
    members = [lags_that_matter(member.trajectory) if watched else member.trajectory for member in study.members]
    first = members[0]
    groups = attribute(first, "groups")
    return {
        "label": study.label,
        "source": str(attribute(first, "source") or "unknown"),
        "watched": watched,
        "kinds": role_kinds(phases.reports) if watched else [],
        "unit": time_label(first),
        "groups": groups if _are_groups(groups) else None,
        "coordinates": coordinate_labels(first),
        "heads": head_counts(first),
        "runs": [
            {
                "label": f"seed {seed}" if member.seed is not None else member.label,
                "seed": seed,
                "status": member.status,
                "roles": [[head + 1 for head in block] for block in roles],
                "report": _plain(report),
                "examples": example_labels(trajectory),
                **_packed(trajectory, report, roles, watched=watched, map_bytes=map_bytes, curve_bytes=curve_bytes),
            }
            for member, trajectory, seed, report, roles in zip(
                study.members, members, study.seeds, phases.reports, phases.roles, strict=True
            )
        ],
        "report": _plain(phases.together),
        "notes": list(phases.notes),
    }


def _plain(report: RunReport | SeedsReport | None) -> dict[str, Any] | None:
    if report is None:
        return None
    return {key: value for key, value in report.to_json().items() if key != COMPETITION_INDEX}


def _packed(
    trajectory: xr.Dataset,
    report: RunReport | None,
    roles: Roles,
    *,
    watched: bool,
    map_bytes: int,
    curve_bytes: int,
) -> dict[str, Any]:
    """Curves and maps of one run, with heads under their roles; the moments of events are always among them."""
    events = [event.step for event in report.offshoots] if report else []
    if report and watched:
        events += [role.start for role in report.roles]
    steps = _times(trajectory, "step")
    measured = drawn((str(name) for name in trajectory.data_vars), watched=watched)
    curves: dict[str, np.ndarray] = {}
    for row in measured:
        if row.dimensions[0] == "step":
            curves |= _parts(row, trajectory[row.name], roles)
    if watched and (band := noise_band(trajectory)) is not None:
        curves |= dict(zip(BANDS["loss"], band, strict=True))
    if report is not None and report.index is not None:
        curves[COMPETITION_INDEX] = competition_index(report, steps)
    kept, block = pack_within(curves, steps, curve_bytes, always=events)
    maps: dict[str, Any] | None = None
    pictures = [row.name for row in measured if row.dimensions[0] == "snapshot" and trajectory[row.name].size]
    if pictures:
        snapshots = _times(trajectory, "snapshot")
        arrays = {name: by_role(trajectory[name], roles) for name in pictures}
        chosen, packed = pack_within(arrays, snapshots, map_bytes, always=events)
        maps = {"steps": snapshots[chosen].tolist(), "of": len(snapshots), **packed}
    return {"curves": {"steps": steps[kept].tolist(), "of": len(steps), **block}, "maps": maps}


def _parts(row: Variable, values: xr.DataArray, roles: Roles) -> dict[str, np.ndarray]:
    """A variable as one array, or as one for each entry of the dimension by which it is split."""
    dim = split_by(row)
    if not dim:
        return {row.name: by_role(values, roles)}
    return {split_name(row, str(e)): by_role(values.isel({dim: i}), roles) for i, e in enumerate(values[dim].values)}


def competition_index(report: RunReport, steps: np.ndarray) -> np.ndarray:
    """The index at these steps; not a number where the detector read none."""
    timeline = report.timeline
    known = dict(zip(timeline.index_steps.tolist(), timeline.index.tolist(), strict=True))
    return np.array([known.get(step, np.nan) for step in steps.tolist()])


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
                # A block with fewer heads than others ends in places of heads that it does not have.
                whole = [*order, *range(len(order), values.shape[head])]
                # With the block taken out, the head axis moves one to the left when it came after it.
                values[tuple(place)] = np.take(values[tuple(place)], whole, axis=head - (block < head))
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
