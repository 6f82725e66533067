"""The report of several seeds: heads matched, stages aligned, medians with bootstrap intervals.

The reference is the first seed that does what most seeds do; `matching` says how heads are compared with its heads.
Medians are over the seeds that show an event; the share of seeds that do, and who disagrees and how, stand beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from headwise.core.bootstrap import median_interval
from headwise.core.events import Offshoot
from headwise.phases.agreement import SharedBoundary, match_boundaries
from headwise.phases.matching import match_heads
from headwise.phases.report_frame import report_frame
from headwise.phases.report_json import SCHEMA, block_json, pattern_json
from headwise.phases.run_report import RunReport
from headwise.phases.timeline_html import sentences_html, timeline_html
from headwise.phases.timeline_text import wrapped
from headwise.phases.views import VIEWS, ViewName

if TYPE_CHECKING:
    import pandas as pd

RESAMPLES = 1000
COVERAGE = 0.95
GRID = 101
"""Times of the median competition index."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Estimate:
    """A median over seeds with its bootstrap interval, and the share of seeds it comes from."""

    median: float
    low: float
    high: float
    share: float


@dataclass(frozen=True, repr=False)
class SeedsReport:
    """What `detect_seeds` finds in several runs: each run's report, which heads do the same, and who disagrees.

    `matching` has for each seed the head that plays each head of the reference seed, counted from 1 over all blocks;
    it is empty for a seed whose heads could not be read.
    """

    names: tuple[int | str, ...]
    runs: tuple[RunReport, ...]
    reference: int
    matching: tuple[tuple[int, ...], ...]
    disagreements: tuple[tuple[int | str, str], ...]

    @property
    def roles(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """`matching` block by block: (seed, block, head of the reference), each a head of that block from 1."""
        split = []
        for run, matched in zip(self.runs, self.matching, strict=True):
            heads = len(matched) // max(1, len(run.blocks))
            split.append(
                tuple(
                    tuple(head - block * heads for head in matched[block * heads : (block + 1) * heads])
                    for block in range(len(run.blocks) if matched else 0)
                )
            )
        return tuple(split)

    def __str__(self) -> str:
        shown = f"seed {self.names[self.reference]}:"
        return "\n".join([*wrapped(self._sentences()), "", shown, str(self.runs[self.reference])])

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {len(self._stages(name))}" for name in VIEWS)
        differ = len({name for name, _ in self.disagreements})
        return (
            f"<SeedsReport: {_counted(len(self.runs), 'seed')}; stages: {counts}; "
            f"{_counted(len(self._offshoots()), 'offshoot')}; {_counted(differ, 'seed')} unlike most>"
        )

    def _repr_html_(self) -> str:
        reference = self.runs[self.reference]
        shown = sentences_html([*self._sentences(), f"below: seed {self.names[self.reference]}"])
        return f"<div>{shown}{timeline_html(reference.timeline)}</div>"

    def to_frame(self) -> pd.DataFrame:
        """The rows of every seed in time order, as a pandas DataFrame: `seed` and the columns of a run's `to_frame`.

        `role` is the head of the reference seed that the head plays.
        """
        rows = []
        for seed, (name, run) in enumerate(zip(self.names, self.runs, strict=True)):
            for row in run.rows():
                role = self._role(seed, row["block"], row["head"]) if "head" in row else None
                rows.append({"seed": name, "role": role, **row})
        return report_frame(rows, first={"seed": "object", "role": "Int64"})

    def to_json(self) -> dict[str, Any]:
        """The keys of a run's `to_json` with medians, intervals and shares over seeds, and `seeds`: who is who."""
        return {
            "schema": SCHEMA,
            "stages": {name: self._stages(name) for name in VIEWS},
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

    def _stages(self, view: ViewName) -> list[dict[str, Any]]:
        """Stages of the seeds that count what most of them count."""
        usual = most_common([len(run.views[view].stages) for run in self.runs])
        chosen = [run.views[view].stages for run in self.runs if len(run.views[view].stages) == usual]
        rows = []
        for k in range(usual):
            start, end, score = (
                self._estimate([getattr(stages[k], field) for stages in chosen]) for field in ("start", "end", "score")
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
            roles = [self._role(seed, offshoot.block, offshoot.head) for seed, offshoot in found]
            rows.append(
                {
                    "step": step.median,
                    "head": most_common(roles),
                    "from": source,
                    "to": target,
                    **block_json(block, several_blocks=self._several_blocks),
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
                    **block_json(block, several_blocks=self._several_blocks),
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
            "counts": {name: [len(run.views[name].stages) for run in self.runs] for name in VIEWS},
            "boundaries": [{**b.steps, "spread": b.spread} for b in self._boundaries()],
            "order": {
                "verdict": orders.most_common(1)[0][0],
                "shares": {k: n / len(self.runs) for k, n in orders.items()},
            },
            "notes": notes + shared,
        }

    def _boundaries(self) -> list[SharedBoundary]:
        """Median boundaries of the views side by side."""
        medians = {name: [stage["start"] for stage in self._stages(name)[1:]] for name in VIEWS}
        length = float(np.median([run.end - run.start for run in self.runs]))
        return match_boundaries({name: places for name, places in medians.items() if places}, length)

    def _specialised(self) -> dict[str, Any]:
        reference = self.runs[self.reference]
        final = [[label for block in run.copied for label in block] for run in self.runs]
        heads = []
        for role in range(len(self.matching[self.reference])):
            patterns = [labels[heads[role] - 1] for labels, heads in zip(final, self.matching, strict=True) if heads]
            usual = most_common(patterns)
            heads.append({"head": role + 1, "pattern": usual, "share": patterns.count(usual) / len(patterns)})
        return {
            "heads": heads,
            "never": [role + 1 for role, head in enumerate(heads) if head["pattern"] is None],
            "complete": sum(len(set(labels)) == len(labels) and None not in labels for labels in final) / len(final),
            "patterns": [pattern_json(pattern) for pattern in reference.heads.patterns],
        }

    @property
    def _several_blocks(self) -> bool:
        return any(len(run.events) > 1 for run in self.runs)

    def _role(self, seed: int, block: int, head: int) -> int:
        """The head of the reference that this head of this seed plays, both counted within the block."""
        return self.roles[seed][block - 1].index(head) + 1

    def _sentences(self) -> Iterator[str]:
        yield f"{_counted(len(self.runs), 'seed')}; the reference is seed {self.names[self.reference]}"
        for name in VIEWS:
            stages = self._stages(name)
            places = ", ".join(
                f"{s['start']:.4g} [{s['start_interval'][0]:.4g}, {s['start_interval'][1]:.4g}]" for s in stages[1:]
            )
            share = stages[0]["share"] if stages else 0.0
            yield f"{name}: {len(stages)} stages in {share:.0%} of seeds" + (f", boundaries {places}" if places else "")
        phase = self._span()
        if phase["start"] is not None:
            yield f"competitive phase from {phase['start']:.4g} to {phase['end']:.4g} in {phase['share']:.0%} of seeds"
        for o in self._offshoots():
            where = f" of block {o['block']}" if "block" in o else ""
            yield (
                f"offshoot {o['from']} to {o['to']}: {o['step']:.4g} [{o['interval'][0]:.4g}, {o['interval'][1]:.4g}], "
                f"{o['share']:.0%} of seeds, head {o['head']}{where} of the reference"
            )
        for c in self._compensation():
            yield f"compensation for pattern {c['to']}: {c['depth']:.2f} of the gain, {c['share']:.0%} of seeds"
        for seed, how in self.disagreements:
            yield f"seed {seed}: {how}"

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


def summarise_seeds(runs: Sequence[RunReport], names: Sequence[int | str]) -> SeedsReport:
    """Match heads, find what most seeds do, and name who does otherwise; all runs have the same blocks and heads."""
    stories = [_story(run) for run in runs]
    usual = most_common(stories)
    alike = [seed for seed, story in enumerate(stories) if story == usual]
    reference = next((seed for seed in alike if runs[seed].blocks), alike[0])
    matching = tuple(match_heads(runs[reference], run) for run in runs)
    counts = {name: most_common([len(run.views[name].stages) for run in runs]) for name in VIEWS}
    disagreements: list[tuple[int | str, str]] = []
    for name, run, story in zip(names, runs, stories, strict=True):
        for view, count in counts.items():
            own = len(run.views[view].stages)
            if own != count:
                disagreements.append((name, f"{view} has {own} stages where most seeds have {count}"))
        if story != usual:
            how = f"offshoots are {_story_text(story)} where most seeds have {_story_text(usual)}"
            disagreements.append((name, how))
    return SeedsReport(tuple(names), tuple(runs), reference, matching, tuple(disagreements))


def most_common(values: Sequence[Key]) -> Key:
    """The most frequent value; of equally frequent ones the first."""
    return Counter(values).most_common(1)[0][0]


def _kind(offshoot: Offshoot) -> tuple[int, Any, Any]:
    return offshoot.block, offshoot.source, offshoot.target


def _story(run: RunReport) -> tuple[tuple[int, Any, Any], ...]:
    return tuple(_kind(offshoot) for offshoot in run.offshoots)


def _story_text(story: tuple[tuple[int, Any, Any], ...]) -> str:
    return ", ".join(f"{source} to {target}" for _, source, target in story) or "none"


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'s' * (count != 1)}"
