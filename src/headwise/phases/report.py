"""`detect`: from a trajectory, or several, to a report a person can read and a program can use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from headwise.core.errors import ConfigError
from headwise.core.events import Label, Offshoot
from headwise.core.trajectory import attribute
from headwise.phases.agreement import Agreement, compare
from headwise.phases.compensation import Compensation, find_compensation
from headwise.phases.config import DEFAULT, Thresholds
from headwise.phases.events import Events, Span, competition_index, find_events
from headwise.phases.function import FunctionReading, read_function
from headwise.phases.heads import HeadsReading, read_heads
from headwise.phases.loss import read_loss
from headwise.phases.reading import Reading, Stage, unreadable
from headwise.phases.sources import (
    Groups,
    HeadSource,
    excess_loss,
    head_source,
    in_time_order,
    predictor_distances,
    value_coefficients,
)


class PhaseReport(ABC):
    """What `detect` returns: a `RunReport` for one trajectory, a `SeedsReport` for several."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`: stages, competitive, offshoots, compensation, competition_index,
        agreement, specialised (and `seeds` for several runs). Heads, blocks and groups count from 1.
        """


@dataclass(frozen=True)
class RunReport(PhaseReport):
    """Everything the detector has to say about one run."""

    start: float
    end: float
    function: FunctionReading
    loss: Reading
    heads: HeadsReading
    blocks: tuple[HeadsReading, ...]
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
    def readings(self) -> dict[str, Reading]:
        """The three readings by name."""
        return {"function": self.function, "loss": self.loss, "heads": self.heads}

    def to_json(self) -> dict[str, Any]:
        several = len(self.events) > 1
        phase = self.competitive
        index = None if self.index is None else self.index.mean(axis=1)
        return {
            "stages": {name: [_stage(stage) for stage in reading.stages] for name, reading in self.readings.items()},
            "competitive": {"start": phase.start if phase else None, "end": phase.end if phase else None},
            "offshoots": [offshoot_json(offshoot, several) for offshoot in self.offshoots],
            "compensation": [_compensation(item, several) for item in self.compensation],
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
            "specialised": self._specialised(several),
        }

    def _specialised(self, several: bool) -> dict[str, Any]:
        heads = []
        for events, block in zip(self.events, self.blocks, strict=True):
            column = {pattern.label: p for p, pattern in enumerate(block.patterns)}
            for head, label in events.specialisation.final.items():
                share = float(block.shares[-1, head - 1, column[label]]) if label is not None else None
                heads.append(
                    {"head": head, "pattern": label, "share": share} | ({"block": events.block} if several else {})
                )
        starts = [events.cooperative.start for events in self.events if events.cooperative]
        return {
            "heads": heads,
            "never": [
                {"block": events.block, "head": head} if several else head
                for events in self.events
                for head in events.specialisation.never
            ],
            "duplicates": [
                {"pattern": label, "heads": list(owners)} | ({"block": events.block} if several else {})
                for events in self.events
                for label, owners in events.specialisation.duplicates.items()
            ],
            "cooperative": {"start": min(starts, default=None), "end": self.end if starts else None},
            "patterns": [{"pattern": p.label, "lags": list(p.lags)} for p in self.heads.patterns],
        }


def detect(
    trajectory: xr.Dataset | Sequence[xr.Dataset], *, groups: Groups = "given", thresholds: Thresholds = DEFAULT
) -> PhaseReport:
    """Stages, phases and events of one trajectory, or of several seeds (a sequence, or a `seed` dimension).

    `groups="found"` ignores the groups a trajectory names and finds the patterns in its attention.
    """
    from headwise.phases.seeds import summarise

    if not isinstance(trajectory, xr.Dataset):
        runs = list(trajectory)
    elif "seed" in trajectory.dims:
        runs = [trajectory.isel(seed=i) for i in range(trajectory.sizes["seed"])]
    else:
        runs = [trajectory]
    if not runs:
        raise ConfigError("detect needs at least one trajectory; the list is empty")
    reports = [detect_run(run, groups=groups, thresholds=thresholds) for run in runs]
    return reports[0] if len(reports) == 1 else summarise(reports, _seed_names(runs))


def detect_run(trajectory: xr.Dataset, *, groups: Groups = "given", thresholds: Thresholds = DEFAULT) -> RunReport:
    """The report of one trajectory; what is missing is said, and the readings that remain possible are made."""
    trajectory = in_time_order(trajectory)
    steps = trajectory["step"].values.astype(float)
    notes: list[str] = []
    function = _function(trajectory, steps, thresholds)
    loss = _loss(trajectory, steps, thresholds)
    source = head_source(trajectory, groups)
    heads, blocks, events = _heads(source, thresholds)
    index_steps, index = (np.zeros(0), None) if isinstance(source, str) else _index(source, trajectory, notes)
    readings: dict[str, Reading] = {"function": function, "loss": loss, "heads": heads}
    compensation = _compensations(trajectory, events, notes)
    agreement = compare(readings, float(steps[-1] - steps[0]), thresholds)
    said = [note for reading in readings.values() for note in reading.notes] + notes
    return RunReport(
        start=float(steps[0]),
        end=float(steps[-1]),
        function=function,
        loss=loss,
        heads=heads,
        blocks=blocks,
        events=events,
        compensation=tuple(compensation),
        index_steps=index_steps,
        index=index,
        agreement=agreement,
        notes=tuple(said),
    )


def _function(trajectory: xr.Dataset, steps: np.ndarray, thresholds: Thresholds) -> FunctionReading:
    kl, names, notes = predictor_distances(trajectory)
    if kl is None:
        return FunctionReading(notes=tuple(notes), reason="no kl was recorded")
    return read_function(steps, kl, names, thresholds)


def _loss(trajectory: xr.Dataset, steps: np.ndarray, thresholds: Thresholds) -> Reading:
    excess, notes = excess_loss(trajectory)
    if excess is None:
        return unreadable(notes[0])
    reading = read_loss(steps, excess, thresholds)
    return Reading(reading.stages, (*notes, *reading.notes))


def _heads(
    source: HeadSource | str, thresholds: Thresholds
) -> tuple[HeadsReading, tuple[HeadsReading, ...], tuple[Events, ...]]:
    """Stages over all blocks together (a pattern is held wherever a head holds it); events block by block."""
    if isinstance(source, str):
        return HeadsReading(notes=(source,)), (), ()
    notes = list(source.notes)
    steps, shares = source.steps, source.shares
    if len(steps) < thresholds.evaluations:
        notes.append(
            f"heads: {len(steps)} finite evaluations are too few to time a change; only what heads copy at the last "
            f"one is read; evaluate at least {thresholds.evaluations} times"
        )
        steps, shares = steps[-1:], shares[-1:]
    count, blocks, heads = shares.shape[:3]
    if heads == 1:
        notes.append("heads: one head has nobody to compete with; competition and offshoots need two")
    together = read_heads(steps, shares.reshape(count, blocks * heads, -1), source.patterns, thresholds)
    each = tuple(read_heads(steps, shares[:, b], source.patterns, thresholds) for b in range(blocks))
    events = tuple(find_events(one, heads, thresholds, b + 1) for b, one in enumerate(each))
    return replace(together, notes=(*notes, *together.notes)), each, events


def _index(source: HeadSource, trajectory: xr.Dataset, notes: list[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """Steps and competition index (step, block), from attention by lag or from a recorded overlap."""
    if source.shares.shape[2] < 2:
        notes.append("competition index: one head has no overlap with another; it is left out")
        return source.steps, None
    overlap = source.overlap
    if overlap is None and "head_overlap" in trajectory:
        overlap = trajectory["head_overlap"].sel(step=source.steps).values
    if overlap is None or not np.isfinite(overlap).all():
        notes.append("competition index: needs attention_by_lag or head_overlap; it is left out")
        return source.steps, None
    return source.steps, np.stack([competition_index(overlap[:, b]) for b in range(overlap.shape[1])], axis=1)


def _compensations(trajectory: xr.Dataset, events: Sequence[Events], notes: list[str]) -> list[Compensation]:
    if not any(block.offshoots for block in events):
        return []
    source = value_coefficients(trajectory)
    if isinstance(source, str):
        notes.append(source)
        return []
    steps, values, labels = source
    named: list[Label] = [label for block in events for label in [o.target for o in block.offshoots]]
    if not all(label in labels for label in named):
        notes.append("compensation: found patterns have no value coefficients; give the groups")
        return []
    found = [find_compensation(steps, values[:, b], block.offshoots, labels) for b, block in enumerate(events)]
    return sorted((item for block in found for item in block), key=lambda item: item.offshoot.step)


def _stage(stage: Stage) -> dict[str, Any]:
    return {"start": stage.start, "end": stage.end, "label": stage.label, "score": stage.score}


def offshoot_json(offshoot: Offshoot, several_blocks: bool) -> dict[str, Any]:
    """One offshoot; its block only where there are several."""
    plain = {"step": offshoot.step, "head": offshoot.head, "from": offshoot.source, "to": offshoot.target}
    return plain | ({"block": offshoot.block} if several_blocks else {})


def _compensation(item: Compensation, several: bool) -> dict[str, Any]:
    deepest = item.deepest
    return {
        **offshoot_json(item.offshoot, several),
        "gain": item.gain,
        "depth": deepest.depth if deepest else None,
        "by": deepest.head if deepest else None,
        "at": deepest.step if deepest else None,
        "duration": deepest.duration if deepest else None,
        "recovers": deepest.recovers if deepest else None,
        "heads": [
            {
                "head": d.head,
                "before": d.before,
                "depth": d.depth,
                "at": d.step,
                "duration": d.duration,
                "recovers": d.recovers,
            }
            for d in item.dips
        ],
    }


def _seed_names(runs: Sequence[xr.Dataset]) -> list[int | str]:
    """The seed of each run, or its place in the list (from 1) where seeds are unknown or not all different."""
    names = [run["seed"].item() if "seed" in run.coords else attribute(run, "seed") for run in runs]
    if any(name is None for name in names) or len(set(names)) < len(names):
        return list(range(1, len(runs) + 1))
    return names
