"""The loss on the batch that a look shows, from the logits of the pass that it makes anyway.

A model that does not look ahead predicts the next token; one that does is asked only where the batch has `labels`, each
for its own position. Labels of -100 do not count, as in the Hugging Face library.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headwise.measure.ablations import SequenceLosses
from headwise.probe.adapter import Batch

IGNORED = -100


@dataclass(frozen=True)
class LossValue:
    """A mean loss, the standard deviation of what it is the mean of, and of how many; NaN where there is none."""

    mean: float = np.nan
    spread: float = np.nan
    count: float = 0.0
    time: float = np.nan
    """The step it belongs to, where that is not the look's own."""

    @classmethod
    def of(cls, values: np.ndarray, *, mean: float | None = None, time: float = np.nan) -> LossValue:
        """Of the finite ones among these values; `mean` where it is not simply theirs."""
        finite = values[np.isfinite(values)]
        if not len(finite):
            return cls(time=time)
        spread = float(finite.std(ddof=1)) if len(finite) > 1 else np.nan
        return cls(float(finite.mean()) if mean is None else mean, spread, float(len(finite)), time)


class LookLoss:
    """Losses of the sequences of one batch, over as many passes as it needs."""

    def __init__(self, queries: int | None) -> None:
        self.queries = queries
        self._sums: list[np.ndarray] = []
        self._counts: list[np.ndarray] = []

    def add(self, logits_BSV: Tensor, batch: Batch, *, ahead: bool) -> None:
        """One pass."""
        targets = targets_of(batch, ahead=ahead)
        if targets is None:
            return
        if self.queries is not None:
            logits_BSV, targets = logits_BSV[:, -self.queries :], targets[:, -self.queries :]
        # A sequence at a time: the logits of a large vocabulary are the largest thing in a pass.
        sums = [_summed_loss(row, target) for row, target in zip(logits_BSV, targets, strict=True)]
        counted_BS = targets != IGNORED
        self._sums.append(torch.stack(sums).cpu().double().numpy())
        self._counts.append(counted_BS.sum(1).cpu().double().numpy())

    def by_sequence(self) -> SequenceLosses | None:
        """Sums over the counted tokens of each sequence; `None` without any target."""
        if not self._sums or not any(counts.any() for counts in self._counts):
            return None
        return SequenceLosses(np.concatenate(self._sums), np.concatenate(self._counts))

    def value(self) -> LossValue | None:
        """Mean over all counted tokens, with the spread of the sequences' own means; `None` without any target."""
        if not self._sums:
            return None
        sums, counts = np.concatenate(self._sums), np.concatenate(self._counts)
        some = counts > 0
        if not some.any():
            return None
        return LossValue.of(sums[some] / counts[some], mean=float(sums[some].sum() / counts[some].sum()))


def targets_of(batch: Batch, *, ahead: bool) -> Tensor | None:
    """What each position is to predict, (B, S), -100 where nothing; `None` where no targets are to be had."""
    tokens, labels = batch.tokens, batch.others.get("labels")
    if isinstance(labels, Tensor) and labels.shape == tokens.shape:
        return labels if ahead else _next(labels)
    if ahead or labels is not None:
        return None
    valid = batch.valid_BS
    return _next(tokens if valid is None else torch.where(valid.to(tokens.device), tokens, IGNORED))


def _summed_loss(logits_SV: Tensor, target_S: Tensor) -> Tensor:
    """Sum over the positions that count; these are taken out only where they are few, since a copy costs as much."""
    keep_S = target_S != IGNORED
    if 2 * int(keep_S.sum()) < len(keep_S):
        logits_SV, target_S = logits_SV[keep_S], target_S[keep_S]
    return torch.nn.functional.cross_entropy(logits_SV.float(), target_S, ignore_index=IGNORED, reduction="sum")


def _next(targets: Tensor) -> Tensor:
    """Shifted by one: the last position has nothing after it."""
    return torch.nn.functional.pad(targets[:, 1:], (0, 1), value=IGNORED).long()
