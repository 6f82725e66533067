"""Sequences that repeat themselves, each with a period of its own: the second witness of induction.

On them only a head that looks at content finds what followed last time. A head on a fixed lag meets it in the sequences
of that one period, and no more often than the attention of the other sequences would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from headwise.core.seeds import Stream, generator
from headwise.probe.adapter import Batch
from headwise.probe.sequences import rows_of

FEWEST_TOKENS = 6
"""Shorter sequences have no two periods of at least 2 that occur twice."""


def repeated_batch(batch: Batch, *, count: int, length: int) -> Batch | None:
    """Sequences that run at least twice through random tokens of the batch, with varied periods.

    There are `count` of them; no more than the batch has where the model takes further inputs that belong to these.
    Tokens are drawn from those the batch holds, so no vocabulary need be known. Periods run evenly from a quarter to
    half of the length. `None` where the input is no sequence of tokens, is too short, has fewer than two different
    tokens or fewer than two sequences.
    """
    tokens = batch.tokens
    tied = any(isinstance(value, Tensor) and value.ndim for value in batch.others.values())
    rows = min(count, tokens.shape[0]) if tied else count
    if tokens.ndim != 2 or tokens.is_floating_point() or length < FEWEST_TOKENS or rows < 2:
        return None
    real = tokens if batch.valid_BS is None else tokens[batch.valid_BS.to(tokens.device)]
    known = torch.as_tensor(np.unique(real.cpu().numpy()), device=tokens.device)
    if len(known) < 2:
        return None
    rng = generator(0, Stream.TEST, length, len(known))
    drawn = np.stack([_repeated(int(period), length, len(known), rng) for period in periods(rows, length)])
    shown = rows_of(batch, slice(0, rows))
    others: dict[str, Any] = {
        name: _cut(value, tokens.shape[1], length) for name, value in shown.others.items() if name != "labels"
    }
    if batch.valid_BS is not None:
        others["attention_mask"] = torch.ones_like(others["attention_mask"])
    return Batch(known[torch.as_tensor(drawn, device=tokens.device)], batch.keyword, others)


def periods(rows: int, length: int) -> np.ndarray:
    """One period for each sequence, evenly from a quarter of the length to half of it."""
    return np.linspace(max(2, length // 4), length // 2, rows).round().astype(int)


def _repeated(period: int, length: int, known: int, rng: np.random.Generator) -> np.ndarray:
    once = rng.choice(known, period, replace=known < period)
    return np.resize(once, length)


def _cut(value: Any, whole: int, length: int) -> Any:
    """What goes with each position, for the first ones."""
    if isinstance(value, Tensor) and value.ndim >= 2 and value.shape[1] == whole:
        return value[:, :length]
    return value
