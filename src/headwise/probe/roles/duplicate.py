"""Duplicate token: earlier copies of the query's token, all of them. Queries whose token did not occur before do not
count.
"""

from __future__ import annotations

from torch import Tensor

from headwise.probe.role import token_role
from headwise.probe.shown import Shown


def copies(shown: Shown) -> Tensor:
    """Keys before the query that hold its token, (B, Q, K)."""
    assert shown.tokens_BS is not None
    same_BQK = shown.tokens_BS[:, shown.offset :, None] == shown.tokens_BS[:, None]
    before_QK = shown.earlier_QK.tril(shown.offset - 1)
    return same_BQK & shown.valid_BK[:, None] & before_QK & shown.compared_BQ[..., None]


ROLE = token_role("duplicate", "duplicate token", "looks at earlier copies of its token", copies)
