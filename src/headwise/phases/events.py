"""Phases and events of the heads: competition, offshoots, cooperation, specialisation (§2.3).

*Competitive phase*: all heads copy the same pattern. *Offshoot*: a head takes up a pattern it has not copied before,
after having copied another one. *Cooperative phase*: from the first offshoot on. A head that never copied anything
before its pattern is not an offshoot: it left nobody. A single head has nobody to leave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from headwise.core.events import Label, Offshoot
from headwise.phases.config import Thresholds
from headwise.phases.heads import Copying, HeadsView, dwell_from
from headwise.phases.series import Series


@dataclass(frozen=True)
class Span:
    """A stretch of the run."""

    start: float
    end: float


@dataclass(frozen=True)
class Specialisation:
    """What each head copies at the end (None: nothing), who never left the common pattern, who copies the same."""

    final: dict[int, Label | None]
    never: tuple[int, ...]
    duplicates: dict[Label, tuple[int, ...]]


@dataclass(frozen=True)
class Events:
    """Everything that happens to the heads of one block."""

    block: int
    competitive: Span | None
    cooperative: Span | None
    offshoots: tuple[Offshoot, ...]
    specialisation: Specialisation


def find_events(view: HeadsView, heads: int, thresholds: Thresholds, block: int = 1) -> Events:
    """Phases and events of one block's heads."""
    if not len(view.steps):
        return Events(block, None, None, (), Specialisation(dict.fromkeys(range(1, heads + 1)), (), {}))
    last = float(view.steps[-1])
    paths = {head: [c for c in view.copying if c.head == head] for head in range(1, heads + 1)}
    changes = [offshoot for path in paths.values() for offshoot in _offshoots(path, block)]
    offshoots = sorted(changes, key=lambda o: (o.step, o.head)) if heads > 1 else []
    series = Series(view.steps, view.shares)
    competitive = _competitive(series, paths, thresholds) if heads > 1 else None
    cooperative = Span(offshoots[0].step, last) if offshoots else None
    return Events(block, competitive, cooperative, tuple(offshoots), _specialisation(paths, last))


def _offshoots(path: Sequence[Copying], block: int) -> list[Offshoot]:
    seen: set[Label] = set()
    found = []
    for i, stretch in enumerate(path):
        if i > 0 and stretch.label not in seen:
            found.append(Offshoot(stretch.start, stretch.head, path[i - 1].label, stretch.label, block))
        seen.add(stretch.label)
    return found


def _competitive(series: Series, paths: dict[int, list[Copying]], thresholds: Thresholds) -> Span | None:
    """The longest stretch, of at least one dwell, in which every head copies one and the same pattern."""
    times = sorted({t for path in paths.values() for c in path for t in (c.start, c.end)})
    spans: list[Span] = []
    for start, end in pairwise(times):
        labels = [next((c.label for c in path if c.start <= start and c.end >= end), None) for path in paths.values()]
        if None in labels or len(set(labels)) > 1:
            continue
        if spans and spans[-1].end == start:
            spans[-1] = Span(spans[-1].start, end)
        else:
            spans.append(Span(start, end))
    long = [span for span in spans if span.end - span.start >= dwell_from(series, span.start, thresholds)]
    return max(long, key=lambda span: span.end - span.start) if long else None


def _specialisation(paths: dict[int, list[Copying]], last: float) -> Specialisation:
    final = {head: path[-1].label if path and path[-1].end >= last else None for head, path in paths.items()}
    counts = Counter(label for label in final.values() if label is not None)
    duplicates = {
        label: tuple(head for head, own in final.items() if own == label)
        for label, count in counts.items()
        if count > 1
    }
    alone = [head for head, label in final.items() if label is not None and counts[label] == 1]
    never = tuple(
        head for head, path in paths.items() if head not in alone and len({stretch.label for stretch in path}) <= 1
    )
    return Specialisation(final, never, duplicates)


def competition_index(overlap: np.ndarray) -> np.ndarray:
    """Mean overlap of all pairs of heads, (step,), from overlaps (step, head, head2): 1 all the same, 0 disjoint.

    Even attention overlaps fully too: before the heads copy anything the index is 1 without any competition.
    """
    heads = overlap.shape[-1]
    pairs = np.triu_indices(heads, k=1)
    return np.asarray(np.clip(overlap[:, pairs[0], pairs[1]].mean(axis=-1), 0, 1))
