"""A decoder of any number of blocks as the kernel takes it: for each block tables or padded matrices, connected to the
parameters.

A layer norm's gain and shift are folded into whatever reads its output, so the kernel only normalises; they appear by
themselves only where a residual connection carries that output. Each head's columns are padded to groups of eight.
Values carry the scale of dropped attention weights wherever they are not looked up in the table of `tables`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from headwise.model.config import DropoutConfig
from headwise.model.decoder import Block, Decoder
from headwise.model.dropout import kept_scale
from headwise.model.folded import eights, first_block_tables, lags, padded, pitch, rows
from headwise.model.layout import heads_in_columns, heads_in_rows, turned
from headwise.model.tables import Output

Source = Literal["tables", "dropped", "sums", "pairs", "dense"]
"""What the first block's attention reads: tables of scores and values; the same with dropped coordinates taken away;
tables of queries, keys and values, the sum of a token row and a position row or one row per pair of them; or products
of the input itself. Later blocks always read products."""


class FoldedBlock(NamedTuple):
    """Empty tensors stand for parts that a block does not have."""

    score: Tensor
    """(heads / QUAD, key rows, query columns, QUAD): columns are tokens, padded, then counted positions, padded"""
    value: Tensor
    """(heads, rows, writes), or with the output matrix apart (heads, rows, what a head hands to it)"""
    output_t: Tensor
    """(heads * columns of each, writes): the output matrix, where it is apart"""
    stream: Tensor
    """(rows, writes): the input, for the residual connection, or for a block that reads it"""
    offset: Tensor
    """(writes,): the output bias"""
    project: Tensor
    """(blocks, rows + writes, COLUMNS): queries, keys and values of dropped inputs, see `folded.projections`"""
    lag: Tensor
    """(heads, keys, queries): relative positions where scores are products"""
    query_t: Tensor
    """(reads, heads * columns): from the stream to queries; keys and values likewise"""
    query_bias: Tensor
    key_t: Tensor
    key_bias: Tensor
    values_t: Tensor
    values_bias: Tensor
    hidden_t: Tensor
    hidden_bias: Tensor
    gain: Tensor
    """(writes,): of the norm after attention, where a residual connection carries it"""
    shift: Tensor
    back: Tensor
    back_bias: Tensor
    out_gain: Tensor
    """(writes,): of the norm after the MLP, where the next block carries it"""
    out_shift: Tensor
    read_t: Tensor
    read_bias: Tensor
    query_rows: Tensor
    """(rows, heads * columns): tables of queries; keys and values likewise"""
    key_rows: Tensor
    value_rows: Tensor


SELDOM = ("query_rows", "key_rows", "value_rows")
"""Tables with so many rows that each gets few additions: their gradients are added in double once and not per chunk."""


class Columns(NamedTuple):
    """Columns of one head, padded to groups of eight."""

    score: int
    value: int


def head_columns(decoder: Decoder, block: Block, output: Output) -> Columns:
    """Columns of a head's queries and of its values; with the output matrix folded in, values have the stream's."""
    attention = block.attention
    size = decoder.stream if decoder.config.score == "merged" else attention.query_HED.shape[1]
    apart = decoder.config.output == "on" and output == "apart"
    return Columns(eights(size), eights(attention.value_HED.shape[1] if apart else block.writes))


def fold_blocks(
    decoder: Decoder,
    queries: int,
    *,
    source: Source,
    rates: DropoutConfig,
    output: Output,
    tokens: Tensor | None = None,
) -> list[FoldedBlock]:
    """Fold a decoder for `queries` counted positions; the last block computes only these, the others all.

    `output` is where the first block has its output matrix; later blocks have it apart. Tables have rows for all
    tokens, or for `tokens` alone (`seen_tokens`).
    """
    last = decoder.config.blocks - 1
    return [
        _fold_block(
            decoder,
            index,
            queries=queries if index == last else decoder.positions,
            source=source if index == 0 else "dense",
            rates=rates,
            output=output if index == 0 else "apart",
            tokens=tokens,
        )
        for index in range(last + 1)
    ]


def _fold_block(
    decoder: Decoder,
    index: int,
    *,
    queries: int,
    source: Source,
    rates: DropoutConfig,
    output: Output,
    tokens: Tensor | None,
) -> FoldedBlock:
    config, block = decoder.config, decoder.layers[index]
    wide, final = pitch(block.writes), index == config.blocks - 1
    parts: dict[str, Tensor] = {}
    if source in ("tables", "dropped"):
        dropped = rates.embedding if source == "dropped" else 0.0
        parts |= first_block_tables(decoder, queries, embedding_dropout=dropped, output=output, tokens=tokens)
    else:
        parts |= _projections(decoder, index, output=output, scale=kept_scale(rates.attention))
        if index == 0 and (config.residual == "on" or source == "dense"):
            table = torch.cat([decoder.token_table(tokens), decoder.position_table()])
            size = decoder.stream if source == "dense" else block.writes
            parts["stream"] = rows(table[:, :size], pitch(size))
        if config.attention_bias == "on" and config.output == "on":
            parts["offset"] = rows(block.attention.output_bias_O, wide)
        if config.positions == "relative":
            parts["lag"] = lags(block.attention, queries)
        if source in ("sums", "pairs"):
            parts |= _row_tables(decoder, parts, source, tokens)
    norms = _norms(block)
    if config.mlp:
        hidden: Tensor = block.mlp_in.weight
        hidden_bias: Tensor = block.mlp_in.bias
        if norms.mlp_reads is not None:
            hidden_bias = hidden_bias + hidden @ norms.mlp_reads.bias
        parts["hidden_t"], parts["hidden_bias"] = (
            turned(hidden, norms.mlp_reads),
            rows(hidden_bias, padded(config.mlp)),
        )
        parts["back"], parts["back_bias"] = (
            rows(block.mlp_out.weight, padded(config.mlp)),
            rows(block.mlp_out.bias, wide),
        )
    if config.norm == "post" and config.residual == "on":
        if config.mlp or not final:
            parts["gain"], parts["shift"] = (
                rows(block.norm_attention.weight, wide),
                rows(block.norm_attention.bias, wide),
            )
        if config.mlp and not final:
            parts["out_gain"], parts["out_shift"] = rows(block.norm_mlp.weight, wide), rows(block.norm_mlp.bias, wide)
    if final:
        parts |= _read_out(decoder, block, norms.after)
    none = torch.zeros(0, dtype=decoder.dtype)
    return FoldedBlock(**{name: parts.get(name, none) for name in FoldedBlock._fields})


class _Norms(NamedTuple):
    """Whose gain and shift are folded into the MLP, and into what reads the stream after the block."""

    mlp_reads: nn.LayerNorm | None
    after: nn.LayerNorm | None


def _norms(block: Block) -> _Norms:
    config = block.config
    if config.norm == "post":
        return _Norms(block.norm_attention, block.norm_mlp if config.mlp else block.norm_attention)
    return _Norms(block.norm_mlp if config.norm == "pre" and config.mlp else None, None)


def _attention_reads(decoder: Decoder, index: int) -> nn.LayerNorm | None:
    """The norm whose output a block's attention reads."""
    if decoder.config.norm == "pre":
        return decoder.layers[index].norm_attention
    return _norms(decoder.layers[index - 1]).after if index else None


def _projections(decoder: Decoder, index: int, *, output: Output, scale: float) -> dict[str, Tensor]:
    """Matrices from the stream to queries, keys and values, and the output matrix behind them."""
    config, block = decoder.config, decoder.layers[index]
    attention, norm = block.attention, _attention_reads(decoder, index)
    columns = head_columns(decoder, block, output)
    merged, biased = config.score == "merged", config.attention_bias == "on"
    query_HED = (attention.score_HDD if merged else attention.query_HED) * attention.inverse_scale
    weights = {"query": query_HED, "values": attention.value_HED * scale}
    biases: dict[str, Tensor] = {}
    if not merged:
        weights["key"] = attention.key_HED
    if biased:
        biases["query"] = attention.query_bias_HE * attention.inverse_scale
        biases["key"], biases["values"] = attention.key_bias_HE, attention.value_bias_HE * scale
    if norm is not None:
        if merged:
            # A key is the normed stream; its gain goes to the query, and its shift moves all logits of a query alike.
            weights["query"] = norm.weight[:, None] * weights["query"]
        for name, weight in weights.items():
            shifted = weight @ norm.bias
            biases[name] = biases[name] + shifted if name in biases else shifted
    gains: dict[str, Tensor | None] = dict.fromkeys(weights, None if norm is None else norm.weight)
    parts: dict[str, Tensor] = {}
    if config.output == "on":
        if output == "apart":
            hand_HEO = attention.output_OHE.permute(1, 2, 0)
            parts["output_t"] = heads_in_rows(hand_HEO, columns.value, pitch(block.writes))
        else:
            value_HED = weights["values"] if norm is None else weights["values"] * norm.weight
            weights["values"], gains["values"] = torch.einsum("ohe,hed->hod", attention.output_OHE, value_HED), None
            if "values" in biases:
                biases["values"] = torch.einsum("ohe,he->ho", attention.output_OHE, biases["values"])
    for name, weight in weights.items():
        step = columns.value if name == "values" else columns.score
        parts[f"{name}_t"] = heads_in_columns(weight, gains[name], step, pitch(config.heads * step))
        if name in biases:
            bias = functional.pad(biases[name], (0, step - weight.shape[1])).flatten()
            parts[f"{name}_bias"] = rows(bias, pitch(bias.shape[0]))
    return parts


def _row_tables(decoder: Decoder, parts: dict[str, Tensor], source: Source, tokens: Tensor | None) -> dict[str, Tensor]:
    """Queries, keys and values of every token and every position, or of every pair; they replace the matrices."""
    tokens_ND, positions_SD = decoder.token_table(tokens), decoder.position_table()
    if source == "pairs":
        x_RD = (tokens_ND[:, None] + positions_SD).flatten(0, 1)
        if decoder.config.norm == "pre":
            x_RD = functional.layer_norm(x_RD, x_RD.shape[1:], eps=decoder.layers[0].norm_attention.eps)
    else:
        x_RD = torch.cat([tokens_ND, positions_SD])
    with_bias = torch.ones(x_RD.shape[0], 1, dtype=x_RD.dtype)
    if source == "sums":
        with_bias[: len(tokens_ND)] = 0
    tables: dict[str, Tensor] = {}
    empty = x_RD.new_zeros(0)
    for name, table in (("query", "query_rows"), ("key", "key_rows"), ("values", "value_rows")):
        if f"{name}_t" not in parts:
            tables[table] = rows(x_RD, pitch(x_RD.shape[1]))
            continue
        found = x_RD @ parts[f"{name}_t"]
        bias = parts.get(f"{name}_bias", empty)
        tables[table] = (found + with_bias * bias if bias.numel() else found).contiguous()
    gone = {f"{name}{kind}": empty for name in ("query", "key", "values") for kind in ("_t", "_bias")}
    return tables | gone


def _read_out(decoder: Decoder, block: Block, norm: nn.LayerNorm | None) -> dict[str, Tensor]:
    """The unembedding, with the last norm folded in."""
    config = decoder.config
    read = read_bias = torch.zeros(0, dtype=decoder.dtype)
    if config.unembedding == "learned":
        read = decoder.unembedding.weight
        if config.unembedding_bias == "on":
            read_bias = decoder.unembedding.bias
    elif norm is not None:
        read = torch.eye(decoder.dictionary, block.writes, dtype=decoder.dtype)
    if norm is not None:
        shifted = read @ norm.bias
        read_bias = read_bias + shifted if read_bias.numel() else shifted
    return {
        "read_t": turned(read, norm) if read.numel() else read,
        "read_bias": rows(read_bias, padded(decoder.dictionary)),
    }
