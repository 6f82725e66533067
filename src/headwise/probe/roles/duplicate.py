"""Duplicate token: earlier copies of the query's token, all of them. Queries whose token did not occur before do not
count.
"""

from __future__ import annotations

from torch import Tensor

from headwise.probe.role import Role, Seen, Share
from headwise.probe.shown import Shown


def copies(shown: Shown) -> Tensor:
    """Keys before the query that hold its token, (B, Q, K)."""
    assert shown.tokens_BS is not None
    same_BQK = shown.tokens_BS[:, shown.offset :, None] == shown.tokens_BS[:, None]
    before_QK = shown.earlier_QK.tril(shown.offset - 1)
    return same_BQK & shown.valid_BK[:, None] & before_QK & shown.compared_BQ[..., None]


def measure(seen: Seen) -> Share | None:
    shown = seen.shown
    if shown.tokens_BS is None:
        return None
    keys_BQK = shown.once("copies", lambda: copies(shown))
    count_B = shown.once("copied", lambda: keys_BQK.any(-1).sum(1))
    return Share(seen.on_keys(keys_BQK), count_B)


ROLE = Role("duplicate", "duplicate token", "looks at earlier copies of its token", measure, against="others")
