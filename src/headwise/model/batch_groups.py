"""How a batch is dealt out to threads: into fixed groups, so that no result depends on how many threads there are."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

GROUPS = 8


def groups(sequences: int, chunk: int, *, most: int = GROUPS) -> list[slice]:
    """At most `GROUPS`, and at most `most`, consecutive ranges of nearly equal size, in whole chunks."""
    whole = -(-sequences // chunk)
    count = min(GROUPS, most, whole)
    edges = [min(sequences, whole * g // count * chunk) for g in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def spread(run: Callable[[int], float], parts: int, *, threads: int) -> list[float]:
    """Each part's result, in the order of the parts, whoever computes them."""
    if threads == 1:
        return [run(part) for part in range(parts)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(parts)))
