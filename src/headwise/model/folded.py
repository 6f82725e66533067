"""The first block of a decoder on tables as the kernel takes it: padded, and connected to the parameters.

Rows are padded with zeros to whole vectors. Autograd takes gradients back through the padding and the tables, once per
step.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from headwise.model.decoder import Attention, Decoder
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


def first_block_tables(
    decoder: Decoder, queries: int, *, embedding_dropout: float, output: Output, tokens: Tensor | None = None
) -> dict[str, Tensor]:
    """What the first block's attention looks up, by the names of `folded_blocks.FoldedBlock`, for `queries` positions
    and all tokens, or `tokens` alone.

    Dropped inputs have their values projected, for which the output matrix is always folded in.
    """
    config, block = decoder.config, decoder.layers[0]
    wide, count = pitch(block.writes), decoder.dictionary if tokens is None else len(tokens)
    if threshold(embedding_dropout):
        stream = torch.cat([decoder.token_table(tokens), decoder.position_table()])
        parts = {
            "offset": rows(attention_offset(decoder), wide),
            "project": projections(decoder, stream, tokens=count, scale=kept_scale(embedding_dropout)),
            "stream": rows(stream, wide),
        }
        return parts | ({"lag": lags(block.attention, queries)} if config.positions == "relative" else {})
    tables = tabulate(decoder, output=output, tokens=tokens)
    score_HRR = tables.score_HRR.transpose(1, 2)
    by_token, by_position = score_HRR[:, :, :count], score_HRR[:, :, -queries:]
    score = torch.cat([rows(by_token, eights(count)), rows(by_position, eights(queries))], dim=2)
    parts = {
        "score": side_by_side(score),
        "value": rows(tables.value_HRO, pitch(tables.value_HRO.shape[2])),
        "stream": rows(tables.stream_RO, wide),
        "offset": rows(tables.offset_O, wide),
    }
    return parts | ({"output_t": rows(block.attention.output_OHE.flatten(1).T, wide)} if output == "apart" else {})


def lags(attention: Attention, queries: int) -> Tensor:
    """Relative scores as the kernel keeps weights, (heads, keys, queries)."""
    lag_HSQ = attention.lag_HS[:, attention.lag_SS[-queries:].clamp(min=1) - 1].transpose(1, 2)
    below = eights(lag_HSQ.shape[1]) - lag_HSQ.shape[1]
    return rows(functional.pad(lag_HSQ, (0, 0, 0, below)), eights(queries))


def projections(decoder: Decoder, rows_RD: Tensor, *, tokens: int, scale: float) -> Tensor:
    """Queries, keys and values of every row and of every single coordinate, cut into blocks of columns.

    The first `tokens` rows are those of tokens. The kernel adds a token row and a position row, takes dropped
    coordinates away and multiplies by `scale`, so biases stand in the position rows divided by it. Keys of a merged
    score are the input itself.
    """
    config, attention = decoder.config, decoder.layers[0].attention
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
