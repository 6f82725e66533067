"""Attention on an input with dropped coordinates in pure torch: no table holds it, so it is projected after all.

The same function as the reference's attention in fewer and larger matrix products: keys and values from one, queries
of the counted positions only. Shape letters as in `decoder`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from headwise.model.decoder import Decoder
from headwise.model.dropout import DropoutMasks, Site


def attend_dropped(decoder: Decoder, x_BSD: Tensor, queries: int, masks: DropoutMasks) -> Tensor:
    """What the heads of the first block write, (B, Q, O), for a decoder that keeps query and key matrices apart."""
    config, attention = decoder.config, decoder.layers[0].attention
    bias = config.attention_bias == "on"
    sizes = (config.heads, attention.key_HED.shape[1])
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
    v_BHSE = v_BSX.reshape(*v_BSX.shape[:2], config.heads, -1).transpose(1, 2)
    a_BHQS = (q_BHQE @ k_BHES + _hidden(decoder, queries)).softmax(-1)
    used_BHQS = masks.apply(a_BHQS, config.dropout.attention, block=0, site=Site.ATTENTION)
    z_BHQE = used_BHQS @ v_BHSE
    if config.output == "off":
        return z_BHQE.sum(1)
    return functional.linear(
        z_BHQE.transpose(1, 2).flatten(2),
        attention.output_OHE.flatten(1),
        attention.output_bias_O if bias else None,
    )


def _hidden(decoder: Decoder, queries: int) -> Tensor:
    """Minus infinity at the keys that a query does not see, the scores of relative positions elsewhere."""
    attention, context = decoder.layers[0].attention, decoder.config.context
    lag_QS = attention.lag_SS[-queries:]
    hidden_QS = lag_QS < 1
    if context is not None:
        hidden_QS = hidden_QS | (lag_QS > context)
    if decoder.config.positions == "relative":
        return attention.lag_HS[:, lag_QS.clamp(min=1) - 1].masked_fill(hidden_QS, -math.inf)
    return torch.zeros(hidden_QS.shape, dtype=decoder.dtype, device=decoder.device).masked_fill(hidden_QS, -math.inf)
