"""What the detector says about runs, as the page's timeline wants it.

Which head does what differs by chance from seed to seed, so in a study every seed's heads are put into the order of
the reference seed: `roles[seed][block][k]` is the head (from 0) that plays the reference's head k there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwise.core.errors import HeadwiseError
from headwise.phases.detection import detect
from headwise.phases.roles import Roles, own_order, roles_in
from headwise.phases.run_report import RunReport
from headwise.phases.seeds_report import SeedsReport, summarise_seeds

if TYPE_CHECKING:
    import xarray as xr


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
            reports.append(detect(trajectory))
        except HeadwiseError as error:
            roles = [own_order(one) for one in trajectories]
            return Happenings([{} for _ in trajectories], None, roles, [f"phases: {error}"])
    roles = [own_order(trajectory) for trajectory in trajectories]
    study = None
    if len(reports) > 1:
        together = summarise_seeds(reports, list(seeds))
        roles = roles_in(together, trajectories)
        study = _study(together)
        notes += [f"seed {name}: {how}" for name, how in together.disagreements]
    runs = [_run(report, own) for report, own in zip(reports, roles, strict=True)]
    said = [list(dict.fromkeys((*report.agreement.notes, *report.notes))) for report in reports]
    shared = [note for note in said[0] if all(note in own for own in said)]
    notes += shared
    for name, own in zip(seeds, said, strict=True):
        notes += [f"seed {name}: {note}" for note in own if note not in shared]
    return Happenings(runs, study, roles, notes)


def _run(report: RunReport, roles: Roles) -> dict[str, Any]:
    """Phases, offshoots, stages and what each head copies, with heads under their roles and counted from 1."""
    data = report.timeline
    competitive, cooperative = report.competitive, report.cooperative

    def role(block: int, head: int) -> int:
        return roles[block - 1].index(head - 1) + 1

    return {
        "competitive": [competitive.start, competitive.end] if competitive else None,
        "cooperative": [cooperative.start, cooperative.end] if cooperative else None,
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
