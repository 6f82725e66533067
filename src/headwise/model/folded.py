"""A one-block decoder as the kernel takes it: tables and a few padded matrices, connected to the parameters.

A layer norm's gain and bias are folded into the matrix that reads its output, so the kernel only normalises and the
norms need no sums of their own; gain and bias appear by themselves only where a residual connection carries the first
norm's output past the MLP. Rows are padded with zeros to whole vectors. Autograd takes gradients back through the
padding, the folding and the tables, once per step.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from headwise.model.decoder import Decoder
from headwise.model.tables import tabulate

LANES = 16
"""Floats in the widest vector."""


class Folded(NamedTuple):
    """Empty tensors stand for parts that the model does not have."""

    score: Tensor
    """(heads, key rows, query columns): columns are tokens, padded, then counted positions, padded"""
    value: Tensor
    """(heads, rows, writes)"""
    stream: Tensor
    """(rows, writes)"""
    offset: Tensor
    """(writes,)"""
    hidden_t: Tensor
    """(writes, units)"""
    hidden_bias: Tensor
    gain: Tensor
    """(writes,): the first norm's, where the residual connection needs it"""
    shift: Tensor
    back: Tensor
    """(writes, units)"""
    back_bias: Tensor
    read_t: Tensor
    """(writes, dictionary)"""
    read_bias: Tensor


def padded(size: int) -> int:
    """`size` rounded up to whole vectors."""
    return -(-size // LANES) * LANES


def pitch(size: int) -> int:
    """Distance of rows of `size`: whole vectors, and no multiple of 128, whose rows would share a few cache sets."""
    return padded(size) + (LANES if padded(size) % 128 == 0 else 0)


def fold(decoder: Decoder, queries: int) -> Folded:
    """Fold a decoder for which `tables.additive` holds, for `queries` counted positions."""
    config, block = decoder.config, decoder.layers[0]
    tables = tabulate(decoder)
    none = tables.value_HRO.new_zeros(0, 0)
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
    score_HRR = tables.score_HRR.transpose(1, 2)
    by_token, by_position = score_HRR[:, :, : decoder.dictionary], score_HRR[:, :, -queries:]
    wide = pitch(block.writes)
    return Folded(
        score=torch.cat([rows(by_token, padded(decoder.dictionary)), rows(by_position, padded(queries))], dim=2),
        value=rows(tables.value_HRO, wide),
        stream=rows(tables.stream_RO, wide),
        offset=rows(tables.offset_O, wide),
        hidden_t=rows(hidden.T, padded(config.mlp)),
        hidden_bias=rows(hidden_bias, padded(config.mlp)),
        gain=rows(gain, wide),
        shift=rows(shift, wide),
        back=rows(back, padded(config.mlp)),
        back_bias=rows(back_bias, wide),
        read_t=rows(read.T, padded(decoder.dictionary)),
        read_bias=rows(read_bias, padded(decoder.dictionary)),
    )


def rows(x: Tensor, size: int) -> Tensor:
    """Rows filled up with zeros to `size`, contiguous; empty stays empty."""
    return functional.pad(x, (0, size - x.shape[-1])).contiguous() if x.numel() else x.new_zeros(0)
