"""Which heads are taken out, one at a time or two of a block together, and what the losses without them say.

Taken out means: what the head writes is replaced, at every position, by its mean over the counted tokens, or by zero.
The rise of the loss is compared sequence by sequence, so that its error is that of the difference. Pairs are pairs of
one block, replaced by their means. How the losses are computed is the business of whoever has the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from headwise.core.errors import ConfigError

Cadence = int | Literal["last"]
"""Every so many looks, the first and the last one among them; or at the last one alone."""
ImportanceOf = Literal["heads", "pairs"]
"""Heads alone, or also all pairs of heads of a block."""
Replacement = Literal["mean", "zero"]


@dataclass(frozen=True)
class Ablation:
    """Heads of one block that are taken out together, counted from 0."""

    block: int
    heads: tuple[int, ...]
    by: Replacement


@dataclass(frozen=True)
class SequenceLosses:
    """The sum of the loss over the counted tokens of each sequence, and how many these are."""

    sums: np.ndarray
    counts: np.ndarray


def check_importance(importance: object, of: object) -> None:
    """A mistake in either setting is an error that names it."""
    whole = isinstance(importance, int) and not isinstance(importance, bool) and importance >= 1
    if importance is not None and importance != "last" and not whole:
        raise ConfigError(f"importance = {importance!r} must be a number of looks of at least 1, or 'last'")
    if of not in get_args(ImportanceOf):
        raise ConfigError(f"importance_of = {of!r} must be 'heads' or 'pairs'")
    if of == "pairs" and importance is None:
        raise ConfigError("importance_of = 'pairs' needs importance: give it a number of looks, or 'last'")


def ablations(heads: Sequence[int], of: ImportanceOf) -> Iterator[Ablation]:
    """Everything that is taken out in one measurement; `heads` has the number of heads of each block."""
    for block, count in enumerate(heads):
        for head in range(count):
            yield Ablation(block, (head,), "mean")
            yield Ablation(block, (head,), "zero")
        if of == "pairs":
            for pair in combinations(range(count), 2):
                yield Ablation(block, pair, "mean")


def cost_text(heads: Sequence[int], of: ImportanceOf) -> str:
    """How many forward passes one measurement takes.

    >>> cost_text([4, 4], "heads")
    '17 forward passes (1 as it is, 2 for each of 8 heads)'
    >>> cost_text([4, 4], "pairs")
    '29 forward passes (1 as it is, 2 for each of 8 heads, 1 for each of 12 pairs)'
    """
    passes = 1 + sum(1 for _ in ablations(heads, of))
    pairs = f", 1 for each of {sum(count * (count - 1) // 2 for count in heads)} pairs" if of == "pairs" else ""
    return f"{passes} forward passes (1 as it is, 2 for each of {sum(heads)} heads{pairs})"


def when_text(cadence: Cadence, what: str) -> str:
    """When it is measured: `at the last look`, `at every 5th look and the last one`."""
    if cadence == "last":
        return f"at the last {what}"
    if cadence == 1:
        return f"at every {what}"
    teens = 10 <= cadence % 100 <= 20
    ending = "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(cadence % 10, "th")
    return f"at every {cadence}{ending} {what} and the last one"


def importance_variables(
    whole: SequenceLosses, without: Mapping[Ablation, np.ndarray], *, heads: Sequence[int], of: ImportanceOf
) -> dict[str, np.ndarray]:
    """Variables of one record: `whole` is the loss of the model as it is, `without` the sums of each ablation."""
    found = not_measured(heads, of)
    for ablation, sums in without.items():
        change, error = rise(sums - whole.sums, whole.counts)
        if len(ablation.heads) == 1:
            place = (ablation.block, ablation.heads[0])
            if ablation.by == "zero":
                found["head_importance_zero"][place] = change
            else:
                found["head_importance"][place], found["head_importance_error"][place] = change, error
            continue
        alone = sum(without[Ablation(ablation.block, (head,), "mean")] - whole.sums for head in ablation.heads)
        change, error = rise(sums - whole.sums - alone, whole.counts)
        for a, b in (ablation.heads, ablation.heads[::-1]):
            found["pair_redundancy"][ablation.block, a, b] = change
            found["pair_redundancy_error"][ablation.block, a, b] = error
    return found


def not_measured(heads: Sequence[int], of: ImportanceOf) -> dict[str, np.ndarray]:
    """The same variables where nothing was measured; as many places for heads as the largest block has."""
    blocks, most = len(heads), max(heads, default=0)
    names = ("head_importance", "head_importance_zero", "head_importance_error")
    found = {name: np.full((blocks, most), np.nan) for name in names}
    if of == "pairs":
        found |= {name: np.full((blocks, most, most), np.nan) for name in ("pair_redundancy", "pair_redundancy_error")}
    return found


def rise(change: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    """Mean change per counted token, and its standard error over sequences; NaN where there is only one.

    >>> rise(np.array([2.0, 4.0]), np.array([2.0, 2.0]))
    (1.5, 0.5)
    """
    some = counts > 0
    change, counts = change[some], counts[some]
    total = float(counts.sum())
    if not total:
        return np.nan, np.nan
    mean = float(change.sum()) / total
    sequences = len(counts)
    if sequences < 2:
        return mean, np.nan
    left = change - mean * counts
    return mean, float(np.sqrt(sequences / (sequences - 1) * (left**2).sum()) / total)
