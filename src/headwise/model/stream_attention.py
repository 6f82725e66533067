"""Attention on the stream itself in pure torch: for later blocks, normed inputs and inputs with dropped coordinates,
which no table holds.

The same function as the reference's attention in fewer and larger matrix products: keys and values from one, queries
of the counted positions only. Shape letters as in `decoder`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from headwise.model.decoder import Attention
from headwise.model.dropout import DropoutMasks, Site


def attend_stream(
    attention: Attention, x_BSD: Tensor, queries: int, masks: DropoutMasks | None
) -> tuple[Tensor, Tensor]:
    """What the heads of a block write, (B, Q, O), and their weights before dropout, (B, H, Q, S)."""
    config = attention.config
    bias = config.attention_bias == "on"
    logits_BHQS, v_BSX = (
        _merged(attention, x_BSD, queries) if config.score == "merged" else _product(attention, x_BSD, queries)
    )
    v_BHSE = v_BSX.reshape(*v_BSX.shape[:2], config.heads, -1).transpose(1, 2)
    a_BHQS = (logits_BHQS + _hidden(attention, queries, like=x_BSD)).softmax(-1)
    used_BHQS = a_BHQS
    if masks is not None:
        used_BHQS = masks.apply(a_BHQS, config.dropout.attention, block=attention.block, site=Site.ATTENTION)
    z_BHQE = used_BHQS @ v_BHSE
    if config.output == "off":
        return z_BHQE.sum(1), a_BHQS
    written_BQO = functional.linear(
        z_BHQE.transpose(1, 2).flatten(2),
        attention.output_OHE.flatten(1),
        attention.output_bias_O if bias else None,
    )
    return written_BQO, a_BHQS


def _product(attention: Attention, x_BSD: Tensor, queries: int) -> tuple[Tensor, Tensor]:
    """Logits, (B, H, Q, S), and values, (B, S, H * E), from query and key matrices."""
    bias = attention.config.attention_bias == "on"
    sizes = (attention.config.heads, attention.key_HED.shape[1])
    weight = torch.cat([attention.key_HED.flatten(0, 1), attention.value_HED.flatten(0, 1)])
    kv_bias = torch.cat([attention.key_bias_HE.flatten(), attention.value_bias_HE.flatten()]) if bias else None
    k_BSX, v_BSX = functional.linear(x_BSD, weight, kv_bias).tensor_split([math.prod(sizes)], dim=2)
    q_BQX = functional.linear(
        x_BSD[:, -queries:],
        attention.query_HED.flatten(0, 1) * attention.inverse_scale,
        attention.query_bias_HE.flatten() * attention.inverse_scale if bias else None,
    )
    k_BHES = k_BSX.reshape(*k_BSX.shape[:2], *sizes).permute(0, 2, 3, 1)
    q_BHQE = q_BQX.reshape(*q_BQX.shape[:2], *sizes).transpose(1, 2)
    return q_BHQE @ k_BHES, v_BSX


def _merged(attention: Attention, x_BSD: Tensor, queries: int) -> tuple[Tensor, Tensor]:
    """The same from one matrix per head: all heads' queries meet the same keys, the stream."""
    heads, size = attention.config.heads, x_BSD.shape[2]
    q_BQX = functional.linear(x_BSD[:, -queries:], attention.score_HDD.flatten(0, 1) * attention.inverse_scale)
    logits_BQHS = q_BQX.reshape(x_BSD.shape[0], queries * heads, size) @ x_BSD.transpose(1, 2)
    logits_BHQS = logits_BQHS.view(x_BSD.shape[0], queries, heads, -1).transpose(1, 2)
    return logits_BHQS, functional.linear(x_BSD, attention.value_HED.flatten(0, 1))


def _hidden(attention: Attention, queries: int, *, like: Tensor) -> Tensor:
    """Minus infinity at the keys that a query does not see, the scores of relative positions elsewhere."""
    context = attention.config.context
    lag_QS = attention.lag_SS[-queries:]
    hidden_QS = lag_QS < 1
    if context is not None:
        hidden_QS = hidden_QS | (lag_QS > context)
    if attention.config.positions == "relative":
        return attention.lag_HS[:, lag_QS.clamp(min=1) - 1].masked_fill(hidden_QS, -math.inf)
    return torch.zeros(hidden_QS.shape, dtype=like.dtype, device=like.device).masked_fill(hidden_QS, -math.inf)
