"""Head importance in words and as a table for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from headwise.core.text import text_table
from headwise.phases.importance import Importance, NeededHead, read_importance
from headwise.phases.role_names import head_name

if TYPE_CHECKING:
    import xarray as xr

NAMED = 6
"""Heads, and pairs, that are told one by one."""
LISTED = 24
"""Heads in the table; the trajectory has all."""
COLUMNS = ("head", "block", "number", "by its mean", "error", "by zero")


def importance_sentences(found: Importance | None) -> Iterator[str]:
    """What a report says of it, one sentence for each finding; nothing where it was not measured."""
    if found is None:
        return
    yield _which(found)
    yield from _since(found)
    several, at = found.several_blocks, f"{found.step:.4g}"
    for gone in found.once[:NAMED]:
        name = head_name(gone.block, gone.head, several_blocks=several)
        yield (
            f"{name} was needed and is no longer: without it the loss rises by {gone.rise:.2g} nats at "
            f"{gone.step:.4g}, by {gone.left:.2g} at {at}"
        )
    for pair in found.stand_ins[:NAMED]:
        a, b = (head_name(pair.block, head, several_blocks=several) for head in pair.heads)
        yield (
            f"{a} and {b} stand in for each other at {at}: the loss rises by {pair.both:.2g} nats without both, by "
            f"{pair.alone[0]:.2g} and {pair.alone[1]:.2g} without one of them"
        )


def importance_parts(trajectory: xr.Dataset) -> list[str]:
    """Lines to print, heads in order of importance; none where it was not measured."""
    found = read_importance(trajectory)
    if found is None:
        return []
    rows = [
        (
            head_name(one.block, one.head, several_blocks=True),
            str(one.block),
            str(one.head),
            f"{one.rise:.4f}",
            f"{one.error:.4f}",
            f"{one.zero:.4f}",
        )
        for one in found.heads[:LISTED]
    ]
    title = f"rise of the loss (nats) when a head's output is replaced, at step {found.step:g}"
    more = [f"{len(found.heads) - LISTED} more heads"] if len(found.heads) > LISTED else []
    return ["", title, text_table(COLUMNS, rows, align="lrrrrr", repeat=1), *more]


def _which(found: Importance) -> str:
    """Which heads are needed at the last measured look, with every number that the statement rests on."""
    at, all_heads = f"{found.step:.4g}", len(found.heads)
    if np.isnan([one.error for one in found.heads]).any():
        return f"cannot tell: which heads the model needs at {at}: one sequence does not say how sure its loss is"
    needed, others = found.heads[: found.needed], found.heads[found.needed :]
    if not needed:
        return (
            f"at {at} no head is needed beyond doubt: without any one of {all_heads}, each replaced by its mean, the "
            "loss rises by no more than three standard errors"
        )
    first, *rest = needed[:NAMED]
    told = [f"at {at} the loss rises without {_name(first, found)} by {_nats(first)} nats"]
    told += [f"without {_name(one, found)} by {_nats(one)}" for one in rest]
    if len(needed) > NAMED:
        told.append(f"without {len(needed) - NAMED} more by less")
    largest = max((one.rise for one in others), default=0.0)
    left = f"; without any one of the other {len(others)} by at most {max(largest, 0.0):.2g}" if others else ""
    return ", ".join(told) + left


def _since(found: Importance) -> Iterator[str]:
    for one in found.heads[: min(found.needed, NAMED)]:
        if one.since is not None and one.interval is not None and one.interval[0] < one.since:
            yield (
                f"{_name(one, found)} is needed from {one.since:.4g} on (between {one.interval[0]:.4g} and "
                f"{one.since:.4g}): at every measured look since then the loss rises without it by at least half as "
                f"much as at {found.step:.4g}"
            )


def _name(one: NeededHead, found: Importance) -> str:
    return head_name(one.block, one.head, several_blocks=found.several_blocks)


def _nats(one: NeededHead) -> str:
    return f"{one.rise:.2g} (±{one.error:.1g})"
