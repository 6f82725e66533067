"""The report of one run: its three views, phases, events and notes, as data, text, HTML, JSON and a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.events import Label, Offshoot
from headwise.phases.agreement import Agreement
from headwise.phases.compensation import Compensation
from headwise.phases.events import Events, Span
from headwise.phases.function import FunctionView
from headwise.phases.heads import HeadsView
from headwise.phases.report_frame import report_frame
from headwise.phases.report_json import (
    SCHEMA,
    block_json,
    compensation_json,
    copying_json,
    offshoot_json,
    pattern_json,
    predictors_json,
    stage_json,
)
from headwise.phases.timeline import Bar, Row, Timeline
from headwise.phases.timeline_html import timeline_html
from headwise.phases.timeline_text import timeline_text
from headwise.phases.views import View, ViewName

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class RunReport:
    """What `detect` finds in one run. `print` shows the timeline; `to_json` and `to_frame` give plain values.

    `views` are function, loss and heads; `blocks` and `events` have one entry for each block of heads. The competition
    index is (step, block), and None where no overlap of heads is known.
    """

    start: float
    end: float
    function: FunctionView
    loss: View
    heads: HeadsView
    blocks: tuple[HeadsView, ...]
    events: tuple[Events, ...]
    compensation: tuple[Compensation, ...]
    index_steps: np.ndarray
    index: np.ndarray | None
    agreement: Agreement
    notes: tuple[str, ...]

    @property
    def offshoots(self) -> tuple[Offshoot, ...]:
        """Offshoots of all blocks in time order."""
        return tuple(
            sorted((o for events in self.events for o in events.offshoots), key=lambda o: (o.step, o.block, o.head))
        )

    @property
    def competitive(self) -> Span | None:
        """The competitive phase; of several blocks', the longest."""
        spans = [events.competitive for events in self.events if events.competitive is not None]
        return max(spans, key=lambda span: span.end - span.start, default=None)

    @property
    def cooperative(self) -> Span | None:
        """The cooperative phase, from the first offshoot in any block to the end of the run."""
        starts = [events.cooperative.start for events in self.events if events.cooperative]
        return Span(min(starts), self.end) if starts else None

    @property
    def views(self) -> dict[ViewName, View]:
        """The three views by name."""
        return {"function": self.function, "loss": self.loss, "heads": self.heads}

    @property
    def copied(self) -> tuple[tuple[Label | None, ...], ...]:
        """The pattern that each head copies at the end, (block, head); None where it copies nothing.

        This is the meaning of *copies* everywhere; `heads` defines it. Empty where heads could not be read.
        """
        return tuple(tuple(events.specialisation.final.values()) for events in self.events)

    @property
    def timeline(self) -> Timeline:
        """What there is to draw."""
        return Timeline(
            start=self.start,
            end=self.end,
            rows=tuple(
                Row(events.block, head, tuple(Bar(c.start, c.end, c.label) for c in block.copying if c.head == head))
                for events, block in zip(self.events, self.blocks, strict=True)
                for head in events.specialisation.final
            ),
            stages={name: view.stages for name, view in self.views.items()},
            offshoots=self.offshoots,
            competitive=self.competitive,
            index_steps=self.index_steps,
            index=self.index.mean(axis=1) if self.index is not None else np.zeros(0),
            patterns=self.heads.patterns,
            sentences=tuple(self._sentences()),
        )

    def __str__(self) -> str:
        return timeline_text(self.timeline)

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {len(view.stages)}" for name, view in self.views.items())
        views = {None: "too few views to compare", True: "views agree", False: "views differ"}[self.agreement.agrees]
        return (
            f"<RunReport: steps {self.start:.4g} to {self.end:.4g}; stages: {counts}; "
            f"{len(self.offshoots)} offshoot{'s' * (len(self.offshoots) != 1)}; {views}>"
        )

    def _repr_html_(self) -> str:
        return timeline_html(self.timeline)

    def to_frame(self) -> pd.DataFrame:
        """A row for each stage, phase, offshoot and compensation in time order, as a pandas DataFrame.

        The columns are those of `report_frame.COLUMNS`; a compensation is the deepest dip after an offshoot.
        """
        return report_frame(self.rows())

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`: schema, stages, competitive, offshoots, compensation,
        competition_index, agreement, copying, specialised, predictors. Heads, blocks and groups count from 1.
        """
        several = len(self.events) > 1
        phase = self.competitive
        index = None if self.index is None else self.index.mean(axis=1)
        return {
            "schema": SCHEMA,
            "stages": {name: [stage_json(stage) for stage in view.stages] for name, view in self.views.items()},
            "competitive": {"start": phase.start if phase else None, "end": phase.end if phase else None},
            "offshoots": [offshoot_json(offshoot, several_blocks=several) for offshoot in self.offshoots],
            "compensation": [compensation_json(item, several_blocks=several) for item in self.compensation],
            "competition_index": {
                "step": self.index_steps.tolist() if index is not None else [],
                "value": index.tolist() if index is not None else [],
            },
            "agreement": {
                "agrees": self.agreement.agrees,
                "counts": self.agreement.counts,
                "boundaries": [{**b.steps, "spread": b.spread} for b in self.agreement.boundaries],
                "order": {"verdict": self.function.order, "reason": self.function.reason},
                "notes": [*self.agreement.notes, *self.notes],
            },
            "copying": [
                copying_json(copying, block=events.block, several_blocks=several)
                for events, block in zip(self.events, self.blocks, strict=True)
                for copying in block.copying
            ],
            "specialised": self._specialised(several),
            "predictors": predictors_json(self.function),
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of `to_frame`, view by view and block by block."""
        for name, view in self.views.items():
            for stage in view.stages:
                yield {
                    "kind": "stage",
                    "step": stage.start,
                    "end": stage.end,
                    "view": name,
                    "label": stage.label,
                    "score": stage.score,
                }
        for events in self.events:
            for kind, span in (("competitive", events.competitive), ("cooperative", events.cooperative)):
                if span is not None:
                    yield {"kind": kind, "step": span.start, "end": span.end, "block": events.block}
        for offshoot in self.offshoots:
            yield {"kind": "offshoot", **offshoot_json(offshoot, several_blocks=True)}
        for item in self.compensation:
            if item.deepest is not None and item.deepest.step is not None:
                yield {
                    "kind": "compensation",
                    **offshoot_json(item.offshoot, several_blocks=True),
                    "step": item.deepest.step,
                    "head": item.deepest.head,
                    "gain": item.gain,
                    "depth": item.deepest.depth,
                    "duration": item.deepest.duration,
                    "recovers": item.deepest.recovers,
                }

    def _specialised(self, several: bool) -> dict[str, Any]:
        heads = []
        for events, block in zip(self.events, self.blocks, strict=True):
            column = {pattern.label: p for p, pattern in enumerate(block.patterns)}
            for head, label in events.specialisation.final.items():
                share = float(block.shares[-1, head - 1, column[label]]) if label is not None else None
                heads.append(
                    {"head": head, "pattern": label, "share": share} | block_json(events.block, several_blocks=several)
                )
        phase = self.cooperative
        return {
            "heads": heads,
            "never": [
                {"block": events.block, "head": head} if several else head
                for events in self.events
                for head in events.specialisation.never
            ],
            "duplicates": [
                {"pattern": label, "heads": list(owners)} | block_json(events.block, several_blocks=several)
                for events in self.events
                for label, owners in events.specialisation.duplicates.items()
            ],
            "cooperative": {"start": phase.start if phase else None, "end": phase.end if phase else None},
            "patterns": [pattern_json(pattern) for pattern in self.heads.patterns],
        }

    def _sentences(self) -> Iterator[str]:
        several = len(self.events) > 1
        if self.competitive:
            yield f"competitive phase from {self.competitive.start:.4g} to {self.competitive.end:.4g}"
        for o in self.offshoots:
            where = f" of block {o.block}" if several else ""
            yield f"offshoot at {o.step:.4g}: head {o.head}{where} leaves pattern {o.source} for pattern {o.target}"
        for item in self.compensation:
            if item.deepest is not None:
                where = f" in block {item.offshoot.block}" if several else ""
                yield f"compensation for pattern {item.offshoot.target}{where}: {item.deepest.in_words}"
        for events in self.events:
            where = f" in block {events.block}" if several else ""
            for label, owners in events.specialisation.duplicates.items():
                yield f"heads {', '.join(map(str, owners))} end on the same pattern {label}{where}"
        yield from self.function.sentences
        if self.agreement.agrees is not None:
            yield "the views agree" if self.agreement.agrees else "the views do not agree"
        yield from self.agreement.notes
        yield from self.notes
