"""Raw attention of a stored run, reduced to what the definitions need: excess share of each lag, induction score.

Lag = query position + 1 - key position: a query's own token is lag 1; lags ahead of it (encoders) are 0 and below.
Shape letters: T looks, N blocks, B sequences, H heads, Q queries, K keys, L lags.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from headwise.zoo.models.shown import ShowsAttention
from headwise.zoo.stored import Stored


@dataclass(frozen=True)
class Shares:
    """What every head did at every look."""

    steps: np.ndarray
    lags: np.ndarray
    excess_TNHL: np.ndarray
    """(share - chance) / (1 - chance); chance is attention spread evenly over what each query sees"""
    induction_TNH: np.ndarray
    """attention on followers of earlier copies of the query's token, above what other sequences' attention gives"""


def measure_shares(stored: Stored, model: nn.Module) -> Shares:
    """Put the weights of each look into the model and read its explicit attention."""
    assert isinstance(model, ShowsAttention)
    tokens = torch.as_tensor(stored.tokens)
    excess, induction = [], []
    model.eval()
    for index in range(len(stored.looks)):
        put_weights(model, stored, index)
        with torch.no_grad():
            blocks = [weights.double() for weights in model.attention(tokens)]
        excess.append([excess_shares(weights) for weights in blocks])
        induction.append([induction_scores(weights, tokens) for weights in blocks])
    return Shares(stored.looks, lags_of(tokens.shape[1]), np.array(excess), np.array(induction))


def put_weights(model: nn.Module, stored: Stored, look: int) -> None:
    """The weights of one look, copied into the model."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(stored.weights[name][look]))


def lags_of(length: int) -> np.ndarray:
    """All lags of a square map, from the furthest ahead to the furthest back."""
    return np.arange(2 - length, length + 1)


def excess_shares(weights_BHQK: Tensor) -> np.ndarray:
    """Excess share of every lag, (H, L); keys that no query of the batch attends at all count as out of sight."""
    length = weights_BHQK.shape[-1]
    causal = float(weights_BHQK.triu(1).abs().max()) == 0.0 if length > 1 else True
    seen_QK = torch.ones(length, length, dtype=torch.float64)
    seen_QK = seen_QK.tril() if causal else seen_QK
    even_QK = seen_QK / seen_QK.sum(-1, keepdim=True)
    share = _diagonal_means(weights_BHQK.mean(0))
    chance = _diagonal_means(even_QK[None])
    return np.asarray((share - chance) / (1 - chance))


def _diagonal_means(map_HQK: Tensor) -> np.ndarray:
    """Sum over each diagonal over the number of queries, (H, L): a query that cannot see the lag counts as zero."""
    length = map_HQK.shape[-1]
    sums = [map_HQK.diagonal(offset=1 - int(lag), dim1=-2, dim2=-1).sum(-1) for lag in lags_of(length)]
    return np.asarray((torch.stack(sums, -1) / length).numpy())


def followers(tokens_BS: Tensor) -> Tensor:
    """Which keys directly follow an earlier copy of the query's token, (B, Q, K)."""
    copy_BQK = tokens_BS[:, :, None] == tokens_BS[:, None, :]
    after = torch.zeros_like(copy_BQK)
    after[:, :, 1:] = copy_BQK[:, :, :-1]
    return after.tril()


def induction_scores(weights_BHQK: Tensor, tokens_BS: Tensor) -> np.ndarray:
    """(own - others') / (1 - others'), (H,), over queries with a follower; NaN where there are none.

    Own: a sequence's attention on its followers. Others': the attention of the other sequences at the same places,
    which a head that looks by position alone gives as well.
    """
    marks = followers(tokens_BS).to(weights_BHQK.dtype)
    count, asked_BQ = len(marks), marks.sum(-1) > 0
    if count < 2 or not bool(asked_BQ.any()):
        return np.full(weights_BHQK.shape[1], np.nan)
    own_BHQ = torch.einsum("bhqk,bqk->bhq", weights_BHQK, marks)
    all_BHQ = torch.einsum("hqk,bqk->bhq", weights_BHQK.sum(0), marks)
    others_BHQ = (all_BHQ - own_BHQ) / (count - 1)
    own, others = (part.transpose(1, 2)[asked_BQ].mean(0) for part in (own_BHQ, others_BHQ))
    return np.asarray(((own - others) / (1 - others)).numpy())
