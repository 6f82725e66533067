"""What several seeds have in common, as rows of plain values: medians, their bootstrap intervals, and shares of seeds.

Medians are over the seeds that show an event; the share of seeds that do stands beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from headwise.core.bootstrap import median_interval
from headwise.core.events import Offshoot
from headwise.phases.agreement import SharedBoundary, match_boundaries
from headwise.phases.report_json import block_json
from headwise.phases.run_report import RunReport
from headwise.phases.views import VIEWS, ViewName

RESAMPLES = 1000
COVERAGE = 0.95
GRID = 101
"""Times of the median competition index."""

Key = TypeVar("Key", bound=Hashable)
Kind = tuple[int, Any, Any]
"""What an offshoot does, whoever does it: its block, the pattern left, the pattern taken up."""


@dataclass(frozen=True)
class Estimate:
    """A median over seeds with its bootstrap interval."""

    median: float
    low: float
    high: float


def estimate(values: Sequence[float]) -> Estimate:
    """The median of what some seeds measure."""
    low, high = median_interval(values, resamples=RESAMPLES)
    return Estimate(float(np.median(values)), low, high)


def most_common(values: Sequence[Key]) -> Key:
    """The most frequent value; of equally frequent ones the first."""
    return Counter(values).most_common(1)[0][0]


def kind_of(offshoot: Offshoot) -> Kind:
    """What the offshoot does."""
    return offshoot.block, offshoot.source, offshoot.target


def stages_over(runs: Sequence[RunReport], view: ViewName) -> list[dict[str, Any]]:
    """Stages of the seeds that count what most of them count."""
    usual = most_common([len(run.views[view].stages) for run in runs])
    chosen = [run.views[view].stages for run in runs if len(run.views[view].stages) == usual]
    rows = []
    for k in range(usual):
        start, end, score = (
            estimate([getattr(stages[k], field) for stages in chosen]) for field in ("start", "end", "score")
        )
        label = most_common([stages[k].label for stages in chosen]) if view != "loss" else f"plateau {k + 1}"
        rows.append(
            {
                "start": start.median,
                "end": end.median,
                "label": label,
                "score": score.median,
                "start_interval": [start.low, start.high],
                "end_interval": [end.low, end.high],
                "share": len(chosen) / len(runs),
            }
        )
    return rows


def competitive_over(runs: Sequence[RunReport]) -> dict[str, Any]:
    """The competitive phase of the seeds that have one."""
    spans = [run.competitive for run in runs if run.competitive is not None]
    if not spans:
        return {"start": None, "end": None, "share": 0.0}
    start, end = estimate([s.start for s in spans]), estimate([s.end for s in spans])
    return {
        "start": start.median,
        "end": end.median,
        "start_interval": [start.low, start.high],
        "end_interval": [end.low, end.high],
        "share": len(spans) / len(runs),
    }


def offshoots_over(runs: Sequence[RunReport], role: Callable[[int, int, int], int]) -> list[dict[str, Any]]:
    """Offshoots grouped by what is left for what; the head is the reference head most often in that role.

    `role` gives the reference head that a seed's head plays, from the seed's place, the block and the head.
    """
    rows = []
    for (block, source, target), found in _grouped(runs, lambda run: run.offshoots, kind_of).items():
        step = estimate([offshoot.step for _, offshoot in found])
        roles = [role(seed, offshoot.block, offshoot.head) for seed, offshoot in found]
        rows.append(
            {
                "step": step.median,
                "head": most_common(roles),
                "from": source,
                "to": target,
                **block_json(block, several_blocks=_several_blocks(runs)),
                "interval": [step.low, step.high],
                "share": len({seed for seed, _ in found}) / len(runs),
            }
        )
    return sorted(rows, key=lambda row: float(row["step"]))


def adds_over(runs: Sequence[RunReport]) -> list[dict[str, Any]]:
    """Additions grouped by what is added to what."""
    rows = []
    for (block, source, target), found in _grouped(runs, lambda run: run.adds, kind_of).items():
        step = estimate([event.step for _, event in found])
        rows.append(
            {
                "step": step.median,
                "from": source,
                "to": target,
                **block_json(block, several_blocks=_several_blocks(runs)),
                "interval": [step.low, step.high],
                "share": len({seed for seed, _ in found}) / len(runs),
            }
        )
    return sorted(rows, key=lambda row: float(row["step"]))


def roles_over(runs: Sequence[RunReport]) -> list[dict[str, Any]]:
    """Roles by block and kind: when the first head of a seed takes it up, how high it goes, how many heads have it."""
    rows = []
    kinds = sorted({(role.block, role.role) for run in runs for role in run.roles})
    for block, name in kinds:
        own = [[role for role in run.roles if (role.block, role.role) == (block, name)] for run in runs]
        having = [roles for roles in own if roles]
        start = estimate([min(role.start for role in roles) for roles in having])
        rows.append(
            {
                "block": block,
                "role": name,
                "start": start.median,
                "interval": [start.low, start.high],
                "score": float(np.median([max(role.score for role in roles) for roles in having])),
                "heads": float(np.median([len({role.head for role in roles}) for roles in own])),
                "share": len(having) / len(runs),
            }
        )
    return sorted(rows, key=lambda row: float(row["start"]))


def compensation_over(runs: Sequence[RunReport]) -> list[dict[str, Any]]:
    """The deepest dip after each offshoot; `share` counts the seeds in which a staying head goes down."""
    rows = []
    grouped = _grouped(runs, lambda run: run.compensation, lambda item: kind_of(item.offshoot))
    for (block, source, target), found in grouped.items():
        deepest = [item.deepest for _, item in found if item.deepest is not None]
        if not deepest:
            continue
        depth = estimate([dip.depth for dip in deepest])
        times = [dip.step for dip in deepest if dip.step is not None]
        rows.append(
            {
                "step": float(np.median([item.offshoot.step for _, item in found])),
                "from": source,
                "to": target,
                **block_json(block, several_blocks=_several_blocks(runs)),
                "depth": depth.median,
                "interval": [depth.low, depth.high],
                "at": float(np.median(times)) if times else None,
                "duration": float(np.median([dip.duration for dip in deepest])),
                "recovers": sum(dip.recovers for dip in deepest) / len(deepest),
                "share": sum(dip.depth < 0 for dip in deepest) / len(runs),
            }
        )
    return sorted(rows, key=lambda row: float(row["step"]))


def index_over(runs: Sequence[RunReport]) -> dict[str, Any]:
    """The median competition index over the time that all seeds cover, and the range of most of them."""
    curves = [(run.index_steps, run.index.mean(axis=1)) for run in runs if run.index is not None]
    if not curves:
        return {"step": [], "value": []}
    steps = np.linspace(max(s[0] for s, _ in curves), min(s[-1] for s, _ in curves), GRID)
    values = np.stack([np.interp(steps, own, value) for own, value in curves])
    low, high = np.quantile(values, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2], axis=0)
    return {
        "step": steps.tolist(),
        "value": np.median(values, axis=0).tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
    }


def boundaries_over(runs: Sequence[RunReport]) -> list[SharedBoundary]:
    """Median boundaries of the views side by side."""
    medians = {name: [stage["start"] for stage in stages_over(runs, name)[1:]] for name in VIEWS}
    length = float(np.median([run.end - run.start for run in runs]))
    return match_boundaries({name: places for name, places in medians.items() if places}, length)


def _grouped(
    runs: Sequence[RunReport], items: Callable[[RunReport], Sequence[Any]], key: Callable[[Any], Kind]
) -> dict[Kind, list[tuple[int, Any]]]:
    groups: dict[Kind, list[tuple[int, Any]]] = {}
    for seed, run in enumerate(runs):
        for item in items(run):
            groups.setdefault(key(item), []).append((seed, item))
    return groups


def _several_blocks(runs: Sequence[RunReport]) -> bool:
    return any(len(run.events) > 1 for run in runs)
