"""A head acquires a lag: its excess share of the lag rises from nothing to a height that it keeps."""

from __future__ import annotations

from headwise.zoo.truth.event import Event
from headwise.zoo.truth.numbers import CLEAR_LAG
from headwise.zoo.truth.rises import Rise, find_rises
from headwise.zoo.truth.shares import Shares


def lag_rises(shares: Shares, block: int, head: int) -> list[tuple[int, Rise]]:
    """Rises of every lag of one head (counted from 0), with the lag's index."""
    curves = shares.excess_TNHL[:, block, head]
    return [(i, rise) for i in range(len(shares.lags)) for rise in find_rises(shares.steps, curves[:, i], CLEAR_LAG)]


def find_lags(shares: Shares) -> list[Event]:
    """Acquisitions of lags by all heads."""
    _, blocks, heads, _ = shares.excess_TNHL.shape
    return [
        Event("lag", rise.value, rise.start, rise.end, block + 1, head + 1, int(shares.lags[index]))
        for block in range(blocks)
        for head in range(heads)
        for index, rise in lag_rises(shares, block, head)
    ]
