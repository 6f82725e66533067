"""Several seeds as one report: heads matched by assignment, stages aligned, medians with bootstrap intervals.

Which head leaves first is chance, so heads are compared by what they do: on a time axis stretched so that the stages of
both runs coincide, each head of a seed is assigned to the head of the reference seed whose attention it follows most
closely. The reference is the first seed that does what most seeds do. Medians are over the seeds that show an event;
the share of seeds that do, and who disagrees and how, stand beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from headwise.core.bootstrap import median_interval
from headwise.core.events import Offshoot
from headwise.phases.agreement import SharedBoundary, match_boundaries
from headwise.phases.report import PhaseReport, RunReport

RESAMPLES = 1000
COVERAGE = 0.95
GRID = 101

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Estimate:
    """A median over seeds with its bootstrap interval, and the share of seeds it comes from."""

    median: float
    low: float
    high: float
    share: float


@dataclass(frozen=True)
class SeedsReport(PhaseReport):
    """Reports of several seeds, the head of each seed that plays each head of the reference, and who disagrees."""

    names: tuple[int | str, ...]
    runs: tuple[RunReport, ...]
    reference: int
    matching: tuple[tuple[int, ...], ...]
    disagreements: tuple[tuple[int | str, str], ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "stages": {name: self._stages(name) for name in ("function", "loss", "heads")},
            "competitive": self._span(),
            "offshoots": self._offshoots(),
            "compensation": self._compensation(),
            "competition_index": self._index(),
            "agreement": self._agreement(),
            "specialised": self._specialised(),
            "seeds": {
                "names": list(self.names),
                "reference": self.names[self.reference],
                "matching": {str(name): list(heads) for name, heads in zip(self.names, self.matching, strict=True)},
                "disagree": [{"seed": name, "how": how} for name, how in self.disagreements],
            },
        }

    def _stages(self, reading: str) -> list[dict[str, Any]]:
        """Stages of the seeds that count what most of them count."""
        usual = most_common([len(run.readings[reading].stages) for run in self.runs])
        chosen = [run.readings[reading].stages for run in self.runs if len(run.readings[reading].stages) == usual]
        rows = []
        for k in range(usual):
            start, end, score = (
                self._estimate([getattr(stages[k], field) for stages in chosen]) for field in ("start", "end", "score")
            )
            label = most_common([stages[k].label for stages in chosen]) if reading != "loss" else f"plateau {k + 1}"
            rows.append(
                {
                    "start": start.median,
                    "end": end.median,
                    "label": label,
                    "score": score.median,
                    "start_interval": [start.low, start.high],
                    "end_interval": [end.low, end.high],
                    "share": len(chosen) / len(self.runs),
                }
            )
        return rows

    def _span(self) -> dict[str, Any]:
        spans = [run.competitive for run in self.runs if run.competitive is not None]
        if not spans:
            return {"start": None, "end": None, "share": 0.0}
        start, end = self._estimate([s.start for s in spans]), self._estimate([s.end for s in spans])
        return {
            "start": start.median,
            "end": end.median,
            "start_interval": [start.low, start.high],
            "end_interval": [end.low, end.high],
            "share": start.share,
        }

    def _offshoots(self) -> list[dict[str, Any]]:
        """Offshoots grouped by what is left for what; the head is the reference head most often in that role."""
        rows = []
        for (block, source, target), found in self._grouped(lambda run: run.offshoots, _kind).items():
            step = self._estimate([offshoot.step for _, offshoot in found])
            roles = [self._role(seed, offshoot) for seed, offshoot in found]
            rows.append(
                {
                    "step": step.median,
                    "head": most_common(roles),
                    "from": source,
                    "to": target,
                    **({"block": block} if len(self.runs[0].events) > 1 else {}),
                    "interval": [step.low, step.high],
                    "share": len({seed for seed, _ in found}) / len(self.runs),
                }
            )
        return sorted(rows, key=lambda row: float(row["step"]))

    def _compensation(self) -> list[dict[str, Any]]:
        rows = []
        grouped = self._grouped(lambda run: run.compensation, lambda item: _kind(item.offshoot))
        for (block, source, target), found in grouped.items():
            deepest = [item.deepest for _, item in found if item.deepest is not None]
            if not deepest:
                continue
            depth = self._estimate([dip.depth for dip in deepest])
            times = [dip.step for dip in deepest if dip.step is not None]
            rows.append(
                {
                    "step": float(np.median([item.offshoot.step for _, item in found])),
                    "from": source,
                    "to": target,
                    **({"block": block} if len(self.runs[0].events) > 1 else {}),
                    "depth": depth.median,
                    "interval": [depth.low, depth.high],
                    "at": float(np.median(times)) if times else None,
                    "duration": float(np.median([dip.duration for dip in deepest])),
                    "recovers": sum(dip.recovers for dip in deepest) / len(deepest),
                    "share": sum(dip.depth < 0 for dip in deepest) / len(self.runs),
                }
            )
        return sorted(rows, key=lambda row: float(row["step"]))

    def _index(self) -> dict[str, Any]:
        curves = [(run.index_steps, run.index.mean(axis=1)) for run in self.runs if run.index is not None]
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

    def _agreement(self) -> dict[str, Any]:
        orders = Counter(run.function.order for run in self.runs)
        notes = [f"seed {name}: {how}" for name, how in self.disagreements]
        for name, run in zip(self.names, self.runs, strict=True):
            notes += [f"seed {name}: {note}" for note in run.agreement.notes]
        shared = [note for note, count in Counter(n for run in self.runs for n in run.notes).items() if count]
        return {
            "agrees": sum(run.agreement.agrees is True for run in self.runs) / len(self.runs),
            "counts": {
                name: [len(run.readings[name].stages) for run in self.runs] for name in ("function", "loss", "heads")
            },
            "boundaries": [{**b.steps, "spread": b.spread} for b in self._boundaries()],
            "order": {
                "verdict": orders.most_common(1)[0][0],
                "shares": {k: n / len(self.runs) for k, n in orders.items()},
            },
            "notes": notes + shared,
        }

    def _boundaries(self) -> list[SharedBoundary]:
        """Median boundaries of the readings side by side."""
        medians = {name: [stage["start"] for stage in self._stages(name)[1:]] for name in ("function", "loss", "heads")}
        length = float(np.median([run.end - run.start for run in self.runs]))
        return match_boundaries({name: places for name, places in medians.items() if places}, length)

    def _specialised(self) -> dict[str, Any]:
        reference = self.runs[self.reference]
        final = [self._final(seed) for seed in range(len(self.runs))]
        heads = []
        for role in range(len(self.matching[self.reference])):
            patterns = [labels[matched[role] - 1] for labels, matched in zip(final, self.matching, strict=True)]
            usual = most_common(patterns)
            heads.append({"head": role + 1, "pattern": usual, "share": patterns.count(usual) / len(patterns)})
        return {
            "heads": heads,
            "never": [role + 1 for role, head in enumerate(heads) if head["pattern"] is None],
            "complete": sum(len(set(labels)) == len(labels) and None not in labels for labels in final) / len(final),
            "patterns": [{"pattern": p.label, "lags": list(p.lags)} for p in reference.heads.patterns],
        }

    def _final(self, seed: int) -> list[Any]:
        return [label for events in self.runs[seed].events for label in events.specialisation.final.values()]

    def _role(self, seed: int, offshoot: Offshoot) -> int:
        per_block = len(self.matching[seed]) // max(1, len(self.runs[seed].events))
        return self.matching[seed].index((offshoot.block - 1) * per_block + offshoot.head) % per_block + 1

    def _grouped(
        self, items: Callable[[RunReport], Sequence[Any]], key: Callable[[Any], Key]
    ) -> dict[Key, list[tuple[int, Any]]]:
        groups: dict[Key, list[tuple[int, Any]]] = {}
        for seed, run in enumerate(self.runs):
            for item in items(run):
                groups.setdefault(key(item), []).append((seed, item))
        return groups

    def _estimate(self, values: Sequence[float]) -> Estimate:
        low, high = median_interval(values, resamples=RESAMPLES)
        return Estimate(float(np.median(values)), low, high, len(values) / len(self.runs))


def summarise(runs: Sequence[RunReport], names: Sequence[int | str]) -> SeedsReport:
    """Match heads, find what most seeds do, and say who does otherwise."""
    stories = [_story(run) for run in runs]
    usual = most_common(stories)
    reference = stories.index(usual)
    matching = tuple(match_heads(runs[reference], run) for run in runs)
    counts = {
        name: most_common([len(run.readings[name].stages) for run in runs]) for name in ("function", "loss", "heads")
    }
    disagreements: list[tuple[int | str, str]] = []
    for name, run, story in zip(names, runs, stories, strict=True):
        for reading, count in counts.items():
            own = len(run.readings[reading].stages)
            if own != count:
                disagreements.append((name, f"{reading} has {own} stages where most seeds have {count}"))
        if story != usual:
            disagreements.append((name, f"offshoots are {_told(story)} where most seeds have {_told(usual)}"))
    return SeedsReport(tuple(names), tuple(runs), reference, matching, tuple(disagreements))


def match_heads(reference: RunReport, run: RunReport) -> tuple[int, ...]:
    """For each head of the reference the head of `run` that does the same, over all blocks, block by block."""
    matched: list[int] = []
    offset = 0
    for mine, other in zip(reference.blocks, run.blocks, strict=True):
        heads = mine.shares.shape[1]
        knots = (_knots(reference), _knots(run))
        if len(knots[0]) != len(knots[1]):
            knots = (knots[0][[0, -1]], knots[1][[0, -1]])
        course = [_course(part, places, reference) for part, places in zip((mine, other), knots, strict=True)]
        cost = np.abs(course[0][:, :, None] - course[1][:, None]).sum(axis=-1).mean(axis=0)
        _, columns = linear_sum_assignment(cost)
        matched += [offset + int(column) + 1 for column in columns]
        offset += heads
    return tuple(matched)


def _knots(run: RunReport) -> np.ndarray:
    return np.array([run.start, *run.heads.boundaries, run.end])


def _course(block: Any, knots: np.ndarray, reference: RunReport) -> np.ndarray:
    """Shares (time, head, pattern) on a grid of aligned time, with patterns in the reference's order."""
    times = np.interp(np.linspace(0, 1, GRID), np.linspace(0, 1, len(knots)), knots)
    columns = {pattern.label: p for p, pattern in enumerate(block.patterns)}
    heads = block.shares.shape[1]
    course = np.zeros((GRID, heads, len(reference.heads.patterns)))
    for j, pattern in enumerate(reference.heads.patterns):
        if pattern.label in columns:
            for head in range(heads):
                course[:, head, j] = np.interp(times, block.steps, block.shares[:, head, columns[pattern.label]])
    return course


def most_common(values: Sequence[Key]) -> Key:
    """The most frequent value; of equally frequent ones the first."""
    return Counter(values).most_common(1)[0][0]


def _kind(offshoot: Offshoot) -> tuple[int, Any, Any]:
    return offshoot.block, offshoot.source, offshoot.target


def _story(run: RunReport) -> tuple[tuple[int, Any, Any], ...]:
    return tuple(_kind(offshoot) for offshoot in run.offshoots)


def _told(story: tuple[tuple[int, Any, Any], ...]) -> str:
    return ", ".join(f"{source} to {target}" for _, source, target in story) or "none"
