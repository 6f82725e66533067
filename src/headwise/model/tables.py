"""Attention over the input alone as small tables (paper §2.2): exact, because the input is a sum.

Before the first block the stream is token row plus position row. Without a layer norm in between, queries, keys and
values inherit that: an attention logit is the sum of four entries of one table per head, a value carried through the
output matrix the sum of two rows of another. Both have only R = N + S rows (tokens, then positions), however large
the batch, so autograd differentiates them once per step.

Biases and relative positions live in the position rows: every query and every key has exactly one.
Shape letters as in `decoder`, and R = N + S rows.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from headwise.model.decoder import Attention, Decoder


class Tables(NamedTuple):
    """Everything attention in the first block needs to know of the weights."""

    score_HRR: Tensor
    """Logit of a query row with a key row, scaled."""
    value_HRO: Tensor
    """What a key row writes through a head; with the output matrix apart, what it hands to that."""
    stream_RO: Tensor
    """The input itself, for the residual connection; no rows without one."""
    offset_O: Tensor
    """The output bias; empty without one."""


Output = Literal["folded", "apart"]
"""Where the output matrix is: in the values' table, which then has the stream's width for every head, or behind it."""


def tabulate(decoder: Decoder, *, output: Output = "folded", tokens: Tensor | None = None) -> Tables:
    """The tables of a decoder, connected to its parameters; with rows for `tokens` alone where some are given."""
    config, block = decoder.config, decoder.layers[0]
    attention, count = block.attention, decoder.dictionary if tokens is None else len(tokens)
    input_rows = _input_rows(decoder, tokens)
    value_HRO = projected(input_rows, attention.value_HED)
    if config.attention_bias == "on":
        value_HRO = with_bias(value_HRO, attention.value_bias_HE, count)
    if config.output == "on" and output == "folded":
        value_HRO = torch.einsum("hre,ohe->hro", value_HRO, attention.output_OHE)
    stream_RO = value_HRO.new_zeros(0, block.writes)
    if config.residual == "on":
        if input_rows is not None and input_rows.is_floating_point():
            stream_RO = input_rows[:, : block.writes]
        else:
            stream_RO = torch.cat([decoder.token_table(tokens), decoder.position_table()])[:, : block.writes]
    return Tables(
        score_HRR=_scores(decoder, attention, input_rows, tokens=count),
        value_HRO=value_HRO,
        stream_RO=stream_RO,
        offset_O=attention_offset(decoder),
    )


def attention_offset(decoder: Decoder) -> Tensor:
    """What attention writes whatever it sees, (O,): the output bias; empty without one."""
    config, attention = decoder.config, decoder.layers[0].attention
    if config.attention_bias == "on" and config.output == "on":
        return attention.output_bias_O
    return attention.value_HED.new_zeros(0)


def _input_rows(decoder: Decoder, tokens: Tensor | None) -> Tensor | None:
    """Token rows and position rows as `projected` takes them."""
    if decoder.config.embedding == "one_hot" and decoder.config.positions == "one_hot":
        if tokens is None:
            return None
        return torch.cat([tokens, torch.arange(decoder.dictionary, decoder.stream, device=tokens.device)])
    return torch.cat([decoder.token_table(tokens), decoder.position_table()])


def _scores(decoder: Decoder, attention: Attention, rows: Tensor | None, *, tokens: int) -> Tensor:
    if decoder.config.score == "merged":
        score_HRR = projected(rows, attention.score_HDD)
        if rows is not None:
            score_HRR = score_HRR @ rows.T if rows.is_floating_point() else score_HRR.index_select(2, rows)
    else:
        q_HRE, k_HRE = projected(rows, attention.query_HED), projected(rows, attention.key_HED)
        if decoder.config.attention_bias == "on":
            q_HRE = with_bias(q_HRE, attention.query_bias_HE, tokens)
            k_HRE = with_bias(k_HRE, attention.key_bias_HE, tokens)
        score_HRR = q_HRE @ k_HRE.transpose(1, 2)
    score_HRR = score_HRR * attention.inverse_scale
    if decoder.config.positions == "relative":
        lag_HSS = attention.lag_HS[:, attention.lag_SS.clamp(min=1) - 1]
        score_HRR = score_HRR + torch.nn.functional.pad(lag_HSS, (tokens, 0, tokens, 0))
    return score_HRR


def projected(rows: Tensor | None, weight_HED: Tensor) -> Tensor:
    """Rows, (R, D), through a matrix per head, (H, R, E).

    `None` stands for all rows of the identity, and whole numbers, (R,), for these rows of it.
    """
    weight_HDE = weight_HED.transpose(1, 2)
    if rows is None:
        return weight_HDE
    return rows @ weight_HDE if rows.is_floating_point() else weight_HDE.index_select(1, rows)


def with_bias(rows_HRE: Tensor, bias_HE: Tensor, tokens: int) -> Tensor:
    """A bias per head in the position rows, which follow the token rows."""
    positions = torch.arange(rows_HRE.shape[1], device=rows_HRE.device) >= tokens
    return rows_HRE + positions[:, None] * bias_HE[:, None]
