"""The report of one run: its three views, phases, events and notes, as data, text, HTML, JSON and a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.events import Label, Offshoot
from headwise.phases.acquired_roles import RoleEvent
from headwise.phases.agreement import Agreement
from headwise.phases.climbs import Climb
from headwise.phases.compensation import Compensation
from headwise.phases.competition import Span
from headwise.phases.events import Events
from headwise.phases.function import FunctionView
from headwise.phases.heads import HeadsView
from headwise.phases.importance import Importance
from headwise.phases.report_frame import ends_of, report_frame
from headwise.phases.report_json import (
    SCHEMA,
    block_json,
    climb_json,
    compensation_json,
    copying_json,
    offshoot_json,
    pattern_json,
    predictors_json,
    role_json,
    stage_json,
    transition_json,
    undecided_json,
)
from headwise.phases.sentences import sentences
from headwise.phases.timeline import Bar, Row, Timeline
from headwise.phases.timeline_html import timeline_html
from headwise.phases.timeline_text import timeline_text
from headwise.phases.transitions import Transition
from headwise.phases.undecided import Undecided
from headwise.phases.views import View, ViewName

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class RunReport:
    """What `detect` finds in one run. `print` shows the timeline; `to_json` and `to_frame` give plain values.

    `views` are function, loss and heads; `blocks` and `events` have one entry for each block of heads. The competition
    index is (step, block), and None where no overlap of heads is known. `roles` are what heads take up, `transitions`
    what belongs together, `undecided` what cannot be told; `found` says that patterns were not given as groups.
    `importance` is which heads the model needs, and None where that was not measured; `climbs` are where the loss
    takes back what it had fallen.
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
    roles: tuple[RoleEvent, ...] = ()
    transitions: tuple[Transition, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    found: bool = False
    importance: Importance | None = None
    climbs: tuple[Climb, ...] = ()

    @property
    def adds(self) -> tuple[Offshoot, ...]:
        """Patterns that heads take up without leaving another, of all blocks in time order."""
        return _in_order([o for events in self.events for o in events.adds])

    @property
    def offshoots(self) -> tuple[Offshoot, ...]:
        """Offshoots of all blocks in time order."""
        return _in_order([o for events in self.events for o in events.offshoots])

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
            sentences=tuple(sentences(self)),
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
        """A row for each stage, phase, offshoot, addition, role, transition, climb and compensation, as a DataFrame.

        The columns are those of `report_frame.COLUMNS`; a compensation is the deepest dip after an offshoot.
        """
        return report_frame(self.rows())

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`: schema, stages, competitive, offshoots, adds, roles, transitions,
        undecided, compensation, competition_index, agreement, copying, specialised, predictors, importance, climbs.
        Heads, blocks and groups count from 1; every event has an `interval` of time in which it happens.
        """
        several = len(self.events) > 1
        phase = self.competitive
        index = None if self.index is None else self.index.mean(axis=1)
        return {
            "schema": SCHEMA,
            "stages": {name: [stage_json(stage) for stage in view.stages] for name, view in self.views.items()},
            "competitive": {
                "start": phase.start if phase else None,
                "end": phase.end if phase else None,
                "interval": list(phase.interval) if phase and phase.interval else None,
            },
            "offshoots": [offshoot_json(offshoot, several_blocks=several) for offshoot in self.offshoots],
            "adds": [offshoot_json(offshoot, several_blocks=several) for offshoot in self.adds],
            "roles": [role_json(role) for role in self.roles],
            "transitions": [transition_json(transition) for transition in self.transitions],
            "undecided": [undecided_json(item) for item in self.undecided],
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
            "importance": None if self.importance is None else self.importance.to_json(),
            "climbs": [climb_json(climb) for climb in self.climbs],
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
                    **ends_of(stage.interval),
                }
        for events in self.events:
            for kind, span in (("competitive", events.competitive), ("cooperative", events.cooperative)):
                if span is not None:
                    row = {"kind": kind, "step": span.start, "end": span.end, "block": events.block}
                    yield row | ends_of(span.interval)
        for kind, changes in (("offshoot", self.offshoots), ("addition", self.adds)):
            for offshoot in changes:
                row = {"kind": kind, **offshoot_json(offshoot, several_blocks=True)}
                yield row | ends_of(offshoot.interval)
        for role in self.roles:
            yield {
                "kind": "role",
                "step": role.start,
                "end": role.end,
                "label": role.role,
                "score": role.score,
                "chance": role.chance,
                "block": role.block,
                "head": role.head,
                **ends_of(role.interval),
            }
        for transition in self.transitions:
            row = {"kind": "transition", "step": transition.start, "end": transition.end}
            yield row | {"label": ", ".join(part.what for part in transition.parts)} | ends_of(transition.interval)
        for climb in self.climbs:
            row = {"kind": "climb", "step": climb.start, "end": climb.top, "gain": climb.high - climb.low}
            yield row | {"recovers": climb.back is not None} | ends_of(climb.interval)
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


def _in_order(found: list[Offshoot]) -> tuple[Offshoot, ...]:
    return tuple(sorted(found, key=lambda o: (o.step, o.block, o.head)))
