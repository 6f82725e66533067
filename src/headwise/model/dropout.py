"""Dropout masks as a pure function of seed, step, site and sequence.

Nothing here has a state: a mask does not depend on threads, on the chunks a batch is cut into or on what was drawn
before, so every path computes with the same masks and a resumed run continues with those it would have had.

Each sequence of a batch owns one splitmix64 stream per site; element e takes 16 of the 64 bits of word e // 4. A rate
is rounded to a multiple of 2^-16 (0.1 becomes 0.100006) and the kept values are scaled by exactly the inverse of the
rounded keep probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import torch

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SHIFTS = (30, 27, 31)
MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
LANES = 4
RESOLUTION = 1 << 16


class Site(IntEnum):
    """Where in a block a mask applies; part of the stream's key, so never renumber."""

    EMBEDDING = 0
    ATTENTION = 1
    ATTENTION_BRANCH = 2
    MLP = 3
    MLP_BRANCH = 4


SITES_PER_BLOCK = 8


def scrambled(word: np.ndarray) -> np.ndarray:
    """The splitmix64 output function."""
    for shift, multiplier in zip(SHIFTS, MULTIPLIERS, strict=False):
        word = (word ^ (word >> np.uint64(shift))) * multiplier
    return np.asarray(word ^ (word >> np.uint64(SHIFTS[-1])))


def threshold(rate: float) -> int:
    """A lane below this value drops its element."""
    return round(rate * RESOLUTION)


def kept_scale(rate: float) -> float:
    """What a kept element is multiplied by."""
    return 1.0 / (1.0 - threshold(rate) / RESOLUTION)


def stream_keys(*, seed: int, step: int, block: int, site: Site, sequences: np.ndarray) -> np.ndarray:
    """One 64-bit key per sequence."""
    with np.errstate(over="ignore"):
        key = scrambled(np.array([seed % (1 << 64)], dtype=np.uint64) + GOLDEN)
        for part in (step, block * SITES_PER_BLOCK + int(site)):
            key = scrambled(key + GOLDEN * np.uint64(part + 1))
        return scrambled(key + GOLDEN * (sequences.astype(np.uint64) + np.uint64(1)))


def keep_bits(keys: np.ndarray, elements: int, rate: float) -> np.ndarray:
    """Which elements are kept, one row per key."""
    words = -(-elements // LANES)
    with np.errstate(over="ignore"):
        counters = GOLDEN * np.arange(1, words + 1, dtype=np.uint64)
        values = scrambled(keys[:, None] + counters[None, :])
    lanes = values.astype("<u8").view("<u2")
    return lanes[:, :elements] >= threshold(rate)


SIGNED_GOLDEN = int(GOLDEN.astype(np.int64))
SIGNED_MULTIPLIERS = tuple(int(multiplier.astype(np.int64)) for multiplier in MULTIPLIERS)
"""The same words for torch, which has no unsigned arithmetic on every device: sums and products wrap as they should."""


def keep_bits_on(keys: torch.Tensor, elements: int, rate: float) -> torch.Tensor:
    """The same bits by torch alone, drawn where the keys are: no mask of every element has to travel there."""
    counters = torch.arange(1, -(-elements // LANES) + 1, device=keys.device) * SIGNED_GOLDEN
    words = _scrambled_on(keys[:, None] + counters)
    lanes = torch.stack([(words >> shift) & (RESOLUTION - 1) for shift in range(0, 64, 64 // LANES)], dim=2)
    return lanes.flatten(1)[:, :elements] >= threshold(rate)


def stream_keys_on(
    device: torch.device, *, seed: int, step: int, block: int, site: Site, first: int, count: int
) -> torch.Tensor:
    """The keys of `count` sequences from `first` on by torch alone, which `torch.compile` can take, as signed words."""
    wrapped = seed % (1 << 64)
    key = torch.full((1,), wrapped - (wrapped >> 63 << 64), dtype=torch.int64, device=device)
    key = _scrambled_on(key + SIGNED_GOLDEN)
    for part in (step, block * SITES_PER_BLOCK + int(site)):
        number = torch.full((1,), part + 1, dtype=torch.int64, device=device)
        key = _scrambled_on(key + number * SIGNED_GOLDEN)
    return _scrambled_on(key + (torch.arange(count, device=device) + (first + 1)) * SIGNED_GOLDEN)


def _scrambled_on(words: torch.Tensor) -> torch.Tensor:
    for shift, multiplier in zip(SHIFTS, SIGNED_MULTIPLIERS, strict=False):
        words = (words ^ _shifted(words, shift)) * multiplier
    return words ^ _shifted(words, SHIFTS[-1])


def _shifted(words: torch.Tensor, bits: int) -> torch.Tensor:
    """A right shift without the copies of the sign that come with a signed one."""
    return (words >> bits) & ((1 << (64 - bits)) - 1)


@dataclass(frozen=True)
class DropoutMasks:
    """The masks of one chunk of a batch: sequences `first`, `first + 1`, ... of step `step`."""

    seed: int
    step: int
    first: int = 0

    def apply(self, x: torch.Tensor, rate: float, *, block: int, site: Site) -> torch.Tensor:
        """Drop elements of `x`, whose leading dimension runs over sequences; a rate of zero returns `x` itself."""
        if threshold(rate) == 0:
            return x
        return x * self.factors(x.shape, rate, block=block, site=site, like=x)

    def factors(self, shape: Sequence[int], rate: float, *, block: int, site: Site, like: torch.Tensor) -> torch.Tensor:
        """What each element is multiplied by: zero, or the scale of what is kept.

        On the CPU NumPy draws the bits. Elsewhere torch does, from keys that NumPy makes in fewer calls than it would;
        under `torch.compile`, which takes no unsigned words, torch makes the keys as well.
        """
        elements = math.prod(shape[1:])
        if torch.compiler.is_compiling():
            drawn = stream_keys_on(
                like.device,
                seed=self.seed,
                step=self.step,
                block=block,
                site=site,
                first=self.first,
                count=shape[0],
            )
            kept = keep_bits_on(drawn, elements, rate)
        else:
            sequences = np.arange(self.first, self.first + shape[0])
            keys = stream_keys(seed=self.seed, step=self.step, block=block, site=site, sequences=sequences)
            if like.device.type == "cpu":
                kept = torch.from_numpy(keep_bits(keys, elements, rate))
            else:
                kept = keep_bits_on(torch.from_numpy(keys.view(np.int64)).to(like.device), elements, rate)
        return kept.to(like.dtype).mul_(kept_scale(rate)).reshape(tuple(shape))
