"""How many heads each block has, where blocks differ: pruned models, and models whose layers were written that way.

A trajectory has one dimension of heads, as long as its largest block. Blocks with fewer heads hold NaN in the places of
those that they lack, and the attribute `heads_by_block` says how many they have; a trajectory whose blocks are alike
has no such attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.trajectory import attribute

if TYPE_CHECKING:
    import xarray as xr

ATTRIBUTE = "heads_by_block"
MOST_NAMED = 4
"""Blocks whose numbers of heads a sentence names one by one."""


def head_counts(trajectory: xr.Dataset) -> list[int]:
    """The number of heads of each block.

    >>> from headwise.core.trajectory import assemble
    >>> entropy = np.array([[[1.0, 2.0], [1.0, np.nan]]])
    >>> head_counts(assemble({"attention_entropy": entropy}, {"step": [0]}, {ATTRIBUTE: [2, 1]}))
    [2, 1]
    """
    blocks, heads = trajectory.sizes.get("block", 1), trajectory.sizes.get("head", 0)
    found = attribute(trajectory, ATTRIBUTE)
    if isinstance(found, list) and len(found) == blocks and all(_is_count(count, heads) for count in found):
        return [int(count) for count in found]
    return [heads] * blocks


def counts_attribute(counts: Sequence[int]) -> dict[str, list[int]]:
    """What a trajectory must say of its blocks: nothing where they are alike."""
    return {ATTRIBUTE: list(counts)} if len(set(counts)) > 1 else {}


def stack_heads(arrays: Sequence[np.ndarray], *, head_axes: tuple[int, ...] = (0,), axis: int = 0) -> np.ndarray:
    """Arrays of one block each, stacked along a new `axis`; those with fewer heads are filled up with NaN."""
    most = max(array.shape[head_axes[0]] for array in arrays)
    filled = []
    for array in arrays:
        room = [(0, most - size if place in head_axes else 0) for place, size in enumerate(array.shape)]
        filled.append(np.pad(array, room, constant_values=np.nan) if any(after for _, after in room) else array)
    return np.stack(filled, axis=axis)


def counted_heads(counts: Sequence[int], *, block: str = "block") -> str:
    """Blocks and heads in words.

    >>> counted_heads([4, 4]), counted_heads([4, 2, 3]), counted_heads([1])
    ('2 blocks of 4 heads', '3 blocks of 4, 2 and 3 heads', '1 block of 1 head')
    """
    blocks = f"{len(counts)} {block}{'s' * (len(counts) != 1)}"
    if len(set(counts)) <= 1:
        heads = counts[0] if counts else 0
        return f"{blocks} of {heads} head{'s' * (heads != 1)}"
    if len(counts) <= MOST_NAMED:
        return f"{blocks} of {', '.join(map(str, counts[:-1]))} and {counts[-1]} heads"
    return f"{blocks} of {min(counts)} to {max(counts)} heads"


def _is_count(count: Any, most: int) -> bool:
    return isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= most
