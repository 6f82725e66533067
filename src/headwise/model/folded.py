"""A one-block decoder as the kernel takes it: tables and a few padded matrices, connected to the parameters.

A layer norm's gain and bias are folded into the matrix that reads its output, so the kernel only normalises and the
two norms need no sums of their own; the gain and bias appear by themselves only where a residual connection carries
the first norm's output past the MLP. Rows are padded with zeros to whole vectors. Autograd takes gradients back
through the padding, the folding and the tables, once per step.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from headwise.model.decoder import Decoder
from headwise.model.tables import tabulate

LANES = 16


class Folded(NamedTuple):
    """Empty tensors stand for parts that the model does not have."""

    score: Tensor
    """(heads, key rows, query rows)"""
    value: Tensor
    """(heads, rows, writes)"""
    stream: Tensor
    """(rows, writes)"""
    offset: Tensor
    """(writes,)"""
    hidden: Tensor
    """(hidden, writes)"""
    hidden_bias: Tensor
    gain: Tensor
    """(writes,): the first norm's, where the residual connection needs it"""
    shift: Tensor
    back: Tensor
    """(writes, hidden)"""
    back_bias: Tensor
    read: Tensor
    """(dictionary, writes)"""
    read_bias: Tensor


def padded(size: int) -> int:
    """`size` rounded up to whole vectors."""
    return -(-size // LANES) * LANES


def fold(decoder: Decoder) -> Folded:
    """Fold a decoder for which `tables.additive` holds."""
    config, block = decoder.config, decoder.layers[0]
    tables = tabulate(decoder)
    none = tables.value_HRO.new_zeros(0)
    hidden = hidden_bias = gain = shift = back = back_bias = read = read_bias = none
    norm = block.norm_attention if config.norm == "post" else None
    if config.mlp:
        hidden, hidden_bias = block.mlp_in.weight, block.mlp_in.bias
        back, back_bias = block.mlp_out.weight, block.mlp_out.bias
        if norm is not None:
            hidden_bias = hidden_bias + hidden @ norm.bias
            hidden = hidden * norm.weight
            if config.residual == "on":
                gain, shift = norm.weight, norm.bias
            norm = block.norm_mlp
    if config.unembedding == "learned":
        read = decoder.unembedding.weight
        if config.unembedding_bias == "on":
            read_bias = decoder.unembedding.bias
    elif norm is not None:
        read = torch.eye(decoder.dictionary, block.writes, dtype=decoder.dtype)
    if norm is not None:
        shifted = read @ norm.bias
        read_bias = read_bias + shifted if read_bias.numel() else shifted
        read = read * norm.weight
    return Folded(
        score=_padded(tables.score_HRR.transpose(1, 2)),
        value=_padded(tables.value_HRO),
        stream=_padded(tables.stream_RO),
        offset=_padded(tables.offset_O),
        hidden=_padded(hidden, both=True),
        hidden_bias=_padded(hidden_bias),
        gain=_padded(gain),
        shift=_padded(shift),
        back=_padded(back, both=True),
        back_bias=_padded(back_bias),
        read=_padded(read, both=True),
        read_bias=_padded(read_bias),
    )


def _padded(x: Tensor, *, both: bool = False) -> Tensor:
    """Zeros up to whole vectors along the last dimension, or the last two; contiguous."""
    if x.numel() == 0:
        return x.new_zeros(0)
    right = padded(x.shape[-1]) - x.shape[-1]
    below = padded(x.shape[-2]) - x.shape[-2] if both else 0
    return functional.pad(x, (0, right, 0, below) if both else (0, right)).contiguous()
