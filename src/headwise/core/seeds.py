"""Named random streams: one seed, independent generators for each purpose.

Changing the model must not change the data, and a resumed run must draw what an uninterrupted one would have drawn.
Both follow from deriving every generator from `(seed, stream, index...)` and keeping no generator state on disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from headwise.core.config import Config
from headwise.core.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np


def check_seed(seed: int) -> None:
    """Refuse a seed that no generator takes."""
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise ConfigError(f"seed = {seed!r} must be a whole number of 0 or more")
    if seed < 0:
        raise ConfigError(f"seed = {seed} must not be negative")


def require_seeds(seeds: Sequence[int]) -> None:
    """Refuse what is no list, and an empty one: it would be a study of nothing that ends without a word."""
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise ConfigError(f"seeds are given as a list, such as [0, 1, 2] or range(3) (got {seeds!r:.60})")
    if len(seeds) == 0:
        raise ConfigError("--seeds is empty; give at least one")


class Stream(IntEnum):
    """What a random number is for. The numbers are part of the format: never renumber them."""

    TASK = 1
    DATA = 2
    INIT = 3
    BATCHES = 4
    DROPOUT = 5
    TEST = 6
    BAYES = 7
    NOISE = 8


class SeedConfig(Config):
    """A seed per stream; `None` takes the run's seed, so that one number is enough in daily use."""

    task: Annotated[int | None, Field(description="seed of the features of the task, if not the run's")] = None
    data: Annotated[int | None, Field(description="seed of the sequences, if not the run's")] = None
    init: Annotated[int | None, Field(description="seed of the initial weights, if not the run's")] = None
    batches: Annotated[int | None, Field(description="seed of the order of the sequences, if not the run's")] = None
    dropout: Annotated[int | None, Field(description="seed of the dropout masks, if not the run's")] = None


def seed_sequence(seed: int, stream: Stream, *indices: int) -> np.random.SeedSequence:
    """The entropy of one stream, at one place in it (a pass over the data, a step, a chunk)."""
    import numpy as np

    return np.random.SeedSequence([seed, int(stream), *indices])


def generator(seed: int, stream: Stream, *indices: int) -> np.random.Generator:
    """A numpy generator for one stream, at one place in it."""
    import numpy as np

    return np.random.Generator(np.random.PCG64(seed_sequence(seed, stream, *indices)))


def integer_seed(seed: int, stream: Stream, *indices: int) -> int:
    """A 63-bit integer for libraries that take a plain seed."""
    import numpy as np

    high, low = seed_sequence(seed, stream, *indices).generate_state(2, np.uint32)
    return (int(high) << 31) ^ int(low)
