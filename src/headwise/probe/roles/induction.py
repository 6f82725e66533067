"""Induction: what followed earlier copies of the query's token, all of them.

Against the attention of other sequences, because a head that looks at a fixed distance, or at a fixed place, meets
followers too, and all of them where every sequence repeats with one period. Queries whose token did not occur before do
not count.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headwise.probe.role import token_role
from headwise.probe.shown import Shown


def followers(shown: Shown) -> Tensor:
    """Keys whose token comes right after an earlier copy of the query's token, (B, Q, K)."""
    assert shown.tokens_BS is not None
    tokens, valid = shown.tokens_BS, shown.valid_BK
    before_BK = torch.nn.functional.pad(tokens, (1, 0))[:, :-1]
    both_BK = valid & torch.nn.functional.pad(valid, (1, 0))[:, :-1]
    same_BQK = tokens[:, shown.offset :, None] == before_BK[:, None]
    return same_BQK & both_BK[:, None] & shown.earlier_QK & shown.compared_BQ[..., None]


ROLE = token_role("induction", "induction", "looks at what followed earlier copies of its token", followers)
