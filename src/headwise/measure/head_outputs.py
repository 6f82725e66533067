"""What the heads of headwise's own decoder hand to the output matrix, and what they write through it.

Shape letters as in `headwise.model.decoder`: B sequences, S positions, Q queries, D stream, H heads, E head size,
O what a head writes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headwise.model.decoder import Attention, one_head


def head_outputs(attention: Attention, x_BSD: Tensor, a_BHQS: Tensor) -> Tensor:
    """Each head's mixture of values, (B, Q, H, E), without dropout; E is O where there is no output matrix."""
    heads = []
    for head in range(attention.config.heads):
        v_BSE = x_BSD @ one_head(attention.value_HED, head).T
        if attention.config.attention_bias == "on":
            v_BSE = v_BSE + attention.value_bias_HE[head]
        heads.append(a_BHQS[:, head] @ v_BSE)
    return torch.stack(heads, dim=2)


def written(attention: Attention, z_BQHE: Tensor) -> Tensor:
    """What these outputs add to the stream together, (B, Q, O), the bias of the output matrix left out."""
    if attention.config.output == "on":
        return torch.einsum("bqhe,ohe->bqo", z_BQHE, attention.output_OHE)
    return z_BQHE.sum(2)
