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
from headwise.model.dropout import kept_scale, threshold
from headwise.model.tables import Output, attention_offset, projected, tabulate, with_bias

LANES = 16
"""Floats in the widest vector."""
COLUMNS = 64
"""Columns the kernel works on at a time."""
PRODUCT_SPEED = 2.0
"""How much faster a product of whole activations is than the same multiplications sequence by sequence."""
QUAD = 4
"""Heads that lie side by side in the score table, so that one lookup serves all of them."""


class Folded(NamedTuple):
    """Empty tensors stand for parts that the model does not have."""

    score: Tensor
    """(heads / QUAD, key rows, query columns, QUAD): columns are tokens, padded, then counted positions, padded"""
    value: Tensor
    """(heads, rows, writes), or with the output matrix apart (heads, rows, what a head hands to it)"""
    output_t: Tensor
    """(heads * what each hands to it, writes): the output matrix, where it is apart"""
    stream: Tensor
    """(rows, writes)"""
    offset: Tensor
    """(writes,)"""
    project: Tensor
    """(blocks, rows + writes, COLUMNS): queries, keys and values of dropped inputs, see `projections`"""
    lag: Tensor
    """(heads, keys, queries): relative positions beside `project`"""
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


def eights(size: int) -> int:
    """`size` rounded up to whole groups of eight, in which the kernel handles queries and keys."""
    return -(-size // 8) * 8


def pitch(size: int) -> int:
    """Distance of rows of `size`: whole vectors, and no multiple of 128, whose rows would share a few cache sets."""
    return padded(size) + (LANES if padded(size) % 128 == 0 else 0)


def output_place(decoder: Decoder, queries: int) -> Output:
    """Where the output matrix costs less: folded in, every head mixes rows of the stream's width; apart, rows of its
    own, and one product more. That product runs at twice the speed of the mixing."""
    config, block = decoder.config, decoder.layers[0]
    if config.output == "off":
        return "folded"
    size, keys = block.attention.value_HED.shape[1], min(config.context or decoder.positions, decoder.positions)
    pairs = sum(min(decoder.positions - q, keys) for q in range(queries))
    folded = pairs * config.heads * block.writes
    apart = (pairs + queries * block.writes / PRODUCT_SPEED) * config.heads * size
    return "apart" if apart < folded else "folded"


def fold(decoder: Decoder, queries: int, *, embedding_dropout: float, output: Output) -> Folded:
    """Fold a decoder that the fast paths handle (`handled`), for `queries` counted positions.

    Dropped inputs have their values projected, for which the output matrix is always folded in.
    """
    config, block = decoder.config, decoder.layers[0]
    wide = pitch(block.writes)
    none = torch.zeros(0, 0, dtype=decoder.dtype)
    score = value = output_t = project = lag = none
    if threshold(embedding_dropout):
        stream = torch.cat([decoder.token_table(), decoder.position_table()])
        offset = attention_offset(decoder)
        project = projections(decoder, stream, scale=kept_scale(embedding_dropout))
        if config.positions == "relative":
            attention = block.attention
            lag_HSQ = attention.lag_HS[:, attention.lag_SS[-queries:].clamp(min=1) - 1].transpose(1, 2)
            below = eights(decoder.positions) - decoder.positions
            lag = rows(functional.pad(lag_HSQ, (0, 0, 0, below)), eights(queries))
    else:
        tables = tabulate(decoder, output=output)
        stream, offset = tables.stream_RO, tables.offset_O
        value = rows(tables.value_HRO, pitch(tables.value_HRO.shape[2]))
        if output == "apart":
            output_t = rows(block.attention.output_OHE.flatten(1).T, wide)
        score_HRR = tables.score_HRR.transpose(1, 2)
        by_token, by_position = score_HRR[:, :, : decoder.dictionary], score_HRR[:, :, -queries:]
        score = torch.cat([rows(by_token, eights(decoder.dictionary)), rows(by_position, eights(queries))], dim=2)
        score = side_by_side(score)
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
        score=score,
        value=value,
        output_t=output_t,
        stream=rows(stream, wide),
        offset=rows(offset, wide),
        project=project,
        lag=lag,
        hidden_t=rows(hidden.T, padded(config.mlp)),
        hidden_bias=rows(hidden_bias, padded(config.mlp)),
        gain=rows(gain, wide),
        shift=rows(shift, wide),
        back=rows(back, padded(config.mlp)),
        back_bias=rows(back_bias, wide),
        read_t=rows(read.T, padded(decoder.dictionary)),
        read_bias=rows(read_bias, padded(decoder.dictionary)),
    )


def projections(decoder: Decoder, rows_RD: Tensor, *, scale: float) -> Tensor:
    """Queries, keys and values of every row and of every single coordinate, cut into blocks of columns.

    The kernel adds a token row and a position row, takes dropped coordinates away and multiplies by `scale`, so biases
    stand in the position rows divided by it. Keys of a merged score are the input itself.
    """
    config, attention, tokens = decoder.config, decoder.layers[0].attention, decoder.dictionary
    merged = config.score == "merged"
    query_HED = (attention.score_HDD if merged else attention.query_HED) * attention.inverse_scale
    key_HED = torch.eye(decoder.stream).expand(config.heads, -1, -1) if merged else attention.key_HED
    q_HRE, k_HRE, v_HRO = (projected(rows_RD, weight) for weight in (query_HED, key_HED, attention.value_HED))
    if config.attention_bias == "on":
        q_HRE = with_bias(q_HRE, attention.query_bias_HE * (attention.inverse_scale / scale), tokens)
        k_HRE = with_bias(k_HRE, attention.key_bias_HE / scale, tokens)
        v_HRO = with_bias(v_HRO, attention.value_bias_HE / scale, tokens)
    q_HRE = torch.cat([q_HRE, query_HED.transpose(1, 2)], dim=1)
    k_HRE = torch.cat([k_HRE, key_HED.transpose(1, 2)], dim=1)
    v_HRO = torch.cat([v_HRO, attention.value_HED.transpose(1, 2)], dim=1)
    if config.output == "on":
        v_HRO = torch.einsum("hre,ohe->hro", v_HRO, attention.output_OHE)
    by_score = [blocks(x.transpose(0, 1).flatten(1)) for x in (q_HRE, k_HRE)]
    by_value = torch.stack([blocks(x) for x in v_HRO], dim=1).flatten(0, 1)
    return torch.cat([*by_score, by_value]).contiguous()


def side_by_side(score_HRC: Tensor) -> Tensor:
    """Scores of each QUAD of heads side by side, (quads, rows, columns, QUAD), the last filled up with zeros."""
    heads, rows_, columns = score_HRC.shape
    filled = functional.pad(score_HRC, (0, 0, 0, 0, 0, -heads % QUAD))
    return filled.view(-1, QUAD, rows_, columns).permute(0, 2, 3, 1).contiguous()


def blocks(x_RC: Tensor) -> Tensor:
    """Columns in blocks, (blocks, rows, COLUMNS), the last filled up with zeros."""
    count = -(-x_RC.shape[1] // COLUMNS)
    filled = functional.pad(x_RC, (0, count * COLUMNS - x_RC.shape[1]))
    return filled.view(x_RC.shape[0], count, COLUMNS).transpose(0, 1)


def rows(x: Tensor, size: int) -> Tensor:
    """Rows filled up with zeros to `size`, contiguous; empty stays empty."""
    return functional.pad(x, (0, size - x.shape[-1])).contiguous() if x.numel() else x.new_zeros(0)
