"""Which sequences a step trains on, as a function of the step alone, so that resuming needs no stored state."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from headwise.core.seeds import Stream, generator
from headwise.training.config import TrainConfig
from headwise.training.passes import steps_per_pass

Batches = Callable[[int], Tensor]
"""Step (from 0) to the sequences it trains on."""


def finite_batches(sequences: Tensor, config: TrainConfig, seed: int) -> Batches:
    """Passes over a fixed set, reshuffled for each; the last batch of a pass takes what is left."""
    per_pass = steps_per_pass(config)

    @lru_cache(maxsize=1)  # for the steps of one pass: shuffling a large set takes as long as a small model's step
    def order(index: int) -> np.ndarray:
        return generator(seed, Stream.BATCHES, index).permutation(sequences.shape[0])

    def batch(step: int) -> Tensor:
        index, place = divmod(step, per_pass)
        chosen = order(index)[place * config.batch : (place + 1) * config.batch]
        return torch.index_select(sequences, 0, torch.from_numpy(chosen).to(sequences.device))

    return batch


def fresh_batches(draw: Callable[[int, np.random.Generator], np.ndarray], config: TrainConfig, seed: int) -> Batches:
    """New sequences at every step, from `draw(count, generator)`."""

    def batch(step: int) -> Tensor:
        # Index 0 of the data stream belongs to finite sets.
        return torch.from_numpy(draw(config.batch, generator(seed, Stream.DATA, step + 1)))

    return batch
