"""What the detector says about runs, as the page's timeline wants it.

Which head does what differs by chance from seed to seed, so in a study every seed's heads are put into the order of
the reference seed: `roles[seed][block][k]` is the head (from 0) that plays the reference's head k there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwise.core.errors import HeadwiseError
from headwise.phases.report import RunReport, detect
from headwise.phases.seeds import SeedsReport, summarise
from headwise.phases.timeline import timeline_data

if TYPE_CHECKING:
    import xarray as xr

Roles = list[list[int]]


@dataclass(frozen=True)
class Happenings:
    """Timelines of each run, of the study where there are several, the heads' roles, and notes for a person."""

    runs: list[dict[str, Any]]
    study: dict[str, Any] | None
    roles: list[Roles]
    notes: list[str]


def read_happenings(trajectories: Sequence[xr.Dataset], seeds: Sequence[int | str]) -> Happenings:
    """Phases of one run, or of several seeds with their heads matched; without phases where none can be read."""
    reports: list[RunReport] = []
    notes: list[str] = []
    for trajectory in trajectories:
        try:
            report = detect(trajectory)
        except HeadwiseError as error:
            return Happenings([{} for _ in trajectories], None, _plain_roles(trajectories), [f"phases: {error}"])
        assert isinstance(report, RunReport)
        reports.append(report)
    roles = _plain_roles(trajectories)
    study = None
    if len(reports) > 1:
        together = summarise(reports, list(seeds))
        roles = _matched_roles(together, roles)
        study = _study(together)
        notes += [f"seed {name}: {how}" for name, how in together.disagreements]
    runs = [_run(report, own) for report, own in zip(reports, roles, strict=True)]
    said = [list(dict.fromkeys((*report.agreement.notes, *report.notes))) for report in reports]
    shared = [note for note in said[0] if all(note in own for own in said)]
    notes += shared
    for name, own in zip(seeds, said, strict=True):
        notes += [f"seed {name}: {note}" for note in own if note not in shared]
    return Happenings(runs, study, roles, notes)


def _plain_roles(trajectories: Sequence[xr.Dataset]) -> list[Roles]:
    return [[list(range(t.sizes.get("head", 0))) for _ in range(t.sizes.get("block", 1))] for t in trajectories]


def _matched_roles(report: SeedsReport, plain: list[Roles]) -> list[Roles]:
    """The detector numbers heads over all blocks in a row; empty where it read no heads."""
    roles: list[Roles] = []
    for matching, own in zip(report.matching, plain, strict=True):
        heads = len(own[0]) if own else 0
        if len(matching) != heads * len(own):
            roles.append(own)
            continue
        roles.append([[matching[b * heads + k] - 1 - b * heads for k in range(heads)] for b in range(len(own))])
    return roles


def _run(report: RunReport, roles: Roles) -> dict[str, Any]:
    """Phases, offshoots, stages and what each head copies, with heads under their roles and counted from 1."""
    data = timeline_data(report)
    starts = [events.cooperative.start for events in report.events if events.cooperative]

    def role(block: int, head: int) -> int:
        return roles[block - 1].index(head - 1) + 1

    return {
        "competitive": list(data.competitive) if data.competitive else None,
        "cooperative": [min(starts), data.end] if starts else None,
        "offshoots": [
            {"step": o.step, "block": o.block, "head": role(o.block, o.head), "from": o.source, "to": o.target}
            for o in report.offshoots
        ],
        "copying": [
            {
                "block": row.block,
                "head": role(row.block, row.head),
                "bars": [[b.start, b.end, b.label] for b in row.bars],
            }
            for row in data.rows
        ],
        "stages": {
            name: [{"start": s.start, "end": s.end, "label": s.label} for s in stages]
            for name, stages in data.stages.items()
        },
        "patterns": [{"label": p.label, "lags": list(p.lags)} for p in report.heads.patterns],
        "compensation": [
            {
                "to": item.offshoot.target,
                "head": role(item.offshoot.block, item.deepest.head),
                "depth": item.deepest.depth,
                "at": item.deepest.step,
            }
            for item in report.compensation
            if item.deepest is not None
        ],
        "agrees": report.agreement.agrees,
        "order": {"verdict": report.function.order, "reason": report.function.reason},
        "index": {"step": data.index_steps.tolist(), "value": data.index.tolist()},
    }


def _study(report: SeedsReport) -> dict[str, Any]:
    """Medians over seeds with their intervals."""
    plain = report.to_json()
    return {
        "competitive": plain["competitive"],
        "offshoots": plain["offshoots"],
        "reference": report.names[report.reference],
        "seeds": len(report.runs),
    }
