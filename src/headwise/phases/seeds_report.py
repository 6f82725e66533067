"""The report of several seeds: what most of them do, in medians, and who disagrees and how.

The reference is the first seed that does what most seeds do; `matching` says how heads are compared with its heads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from headwise.phases.matching import match_heads
from headwise.phases.report_frame import report_frame
from headwise.phases.report_json import SCHEMA, pattern_json, transition_json, undecided_json
from headwise.phases.run_report import RunReport
from headwise.phases.seeds_summary import (
    Kind,
    adds_over,
    boundaries_over,
    compensation_over,
    competitive_over,
    index_over,
    kind_of,
    most_common,
    offshoots_over,
    roles_over,
    stages_over,
)
from headwise.phases.timeline_html import sentences_html, timeline_html
from headwise.phases.timeline_text import wrapped
from headwise.phases.views import VIEWS

if TYPE_CHECKING:
    import pandas as pd


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
            ends = list(accumulate((block.shares.shape[1] for block in run.blocks), initial=0)) if matched else [0]
            split.append(tuple(tuple(head - first for head in matched[first:end]) for first, end in pairwise(ends)))
        return tuple(split)

    def __str__(self) -> str:
        shown = f"seed {self.names[self.reference]}:"
        return "\n".join([*wrapped(self._sentences()), "", shown, str(self.runs[self.reference])])

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {len(stages_over(self.runs, name))}" for name in VIEWS)
        offshoots = len(offshoots_over(self.runs, self._role))
        differ = len({name for name, _ in self.disagreements})
        return (
            f"<SeedsReport: {_counted(len(self.runs), 'seed')}; stages: {counts}; "
            f"{_counted(offshoots, 'offshoot')}; {_counted(differ, 'seed')} unlike most>"
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
        """The keys of a run's `to_json` but `copying`, with medians, intervals and shares over seeds; transitions and
        open statements seed by seed; and `seeds`: who is who.
        """
        return {
            "schema": SCHEMA,
            "stages": {name: stages_over(self.runs, name) for name in VIEWS},
            "competitive": competitive_over(self.runs),
            "offshoots": offshoots_over(self.runs, self._role),
            "adds": adds_over(self.runs),
            "roles": roles_over(self.runs),
            "transitions": [
                {"seed": name, **transition_json(transition)}
                for name, run in zip(self.names, self.runs, strict=True)
                for transition in run.transitions
            ],
            "undecided": [
                {"seed": name, **undecided_json(item)}
                for name, run in zip(self.names, self.runs, strict=True)
                for item in run.undecided
            ],
            "compensation": compensation_over(self.runs),
            "competition_index": index_over(self.runs),
            "agreement": self._agreement(),
            "specialised": self._specialised(),
            "seeds": {
                "names": list(self.names),
                "reference": self.names[self.reference],
                "matching": {str(name): list(heads) for name, heads in zip(self.names, self.matching, strict=True)},
                "disagree": [{"seed": name, "how": how} for name, how in self.disagreements],
            },
        }

    def _agreement(self) -> dict[str, Any]:
        orders = Counter(run.function.order for run in self.runs)
        notes = [f"seed {name}: {how}" for name, how in self.disagreements]
        for name, run in zip(self.names, self.runs, strict=True):
            notes += [f"seed {name}: {note}" for note in run.agreement.notes]
        shared = list(dict.fromkeys(note for run in self.runs for note in run.notes))
        return {
            "agrees": sum(run.agreement.agrees is True for run in self.runs) / len(self.runs),
            "counts": {name: [len(run.views[name].stages) for run in self.runs] for name in VIEWS},
            "boundaries": [{**b.steps, "spread": b.spread} for b in boundaries_over(self.runs)],
            "order": {
                "verdict": orders.most_common(1)[0][0],
                "shares": {k: n / len(self.runs) for k, n in orders.items()},
            },
            "notes": notes + shared,
        }

    def _specialised(self) -> dict[str, Any]:
        reference = self.runs[self.reference]
        final = [[label for block in run.copied for label in block] for run in self.runs]
        heads = []
        for role in range(len(self.matching[self.reference])):
            patterns = [labels[own[role] - 1] for labels, own in zip(final, self.matching, strict=True) if own]
            usual = most_common(patterns)
            heads.append({"head": role + 1, "pattern": usual, "share": patterns.count(usual) / len(patterns)})
        return {
            "heads": heads,
            "never": [role + 1 for role, head in enumerate(heads) if head["pattern"] is None],
            "complete": sum(len(set(labels)) == len(labels) and None not in labels for labels in final) / len(final),
            "patterns": [pattern_json(pattern) for pattern in reference.heads.patterns],
        }

    def _role(self, seed: int, block: int, head: int) -> int:
        """The head of the reference that this head of this seed plays, both counted within the block."""
        return self.roles[seed][block - 1].index(head) + 1

    def _sentences(self) -> Iterator[str]:
        yield f"{_counted(len(self.runs), 'seed')}; the reference is seed {self.names[self.reference]}"
        for name in VIEWS:
            stages = stages_over(self.runs, name)
            if not stages:
                yield f"{name}: no stages"
                continue
            places = ", ".join(
                f"{s['start']:.4g} [{s['start_interval'][0]:.4g}, {s['start_interval'][1]:.4g}]" for s in stages[1:]
            )
            counted = f"{_counted(len(stages), 'stage')} in {stages[0]['share']:.0%} of seeds"
            yield f"{name}: {counted}" + (f", boundaries {places}" if places else "")
        phase = competitive_over(self.runs)
        if phase["start"] is not None:
            yield f"competitive phase from {phase['start']:.4g} to {phase['end']:.4g} in {phase['share']:.0%} of seeds"
        for o in offshoots_over(self.runs, self._role):
            where = f" of block {o['block']}" if "block" in o else ""
            yield (
                f"offshoot {o['from']} to {o['to']}: {o['step']:.4g} [{o['interval'][0]:.4g}, {o['interval'][1]:.4g}], "
                f"{o['share']:.0%} of seeds, head {o['head']}{where} of the reference"
            )
        for c in compensation_over(self.runs):
            yield f"compensation for pattern {c['to']}: {c['depth']:.2f} of the gain, {c['share']:.0%} of seeds"
        for seed, how in self.disagreements:
            yield f"seed {seed}: {how}"


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


def _story(run: RunReport) -> tuple[Kind, ...]:
    return tuple(kind_of(offshoot) for offshoot in run.offshoots)


def _story_text(story: tuple[Kind, ...]) -> str:
    return ", ".join(f"{source} to {target}" for _, source, target in story) or "none"


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'s' * (count != 1)}"
