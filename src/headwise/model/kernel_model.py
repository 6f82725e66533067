"""Folded blocks as the kernel's own structures: sizes, distances of rows, dropout rates and addresses."""

from __future__ import annotations

import ctypes
from enum import IntEnum

from torch import Tensor

from headwise.model.config import DropoutConfig
from headwise.model.decoder import Decoder
from headwise.model.dropout import kept_scale, threshold
from headwise.model.dropout_keys import site_rates
from headwise.model.engine import sequences_at_a_time
from headwise.model.folded import COLUMNS, LANES, eights, padded, pitch, rows
from headwise.model.folded_blocks import FoldedBlock, Source, head_columns
from headwise.model.kernel_structures import WEIGHTS, Block, Drop, Model, address
from headwise.model.layout import in_blocks

TILE = 128
TILE_BYTES = 3 << 16
"""Sequences that go through a block together, and bytes of one of their activations: several fit the second cache."""
DROPPED_BYTES = 7 << 14
"""Fewer with dropped inputs, which have lists of coordinates, queries, keys and values beside their activations."""
ALONE_BYTES = 5 << 13
"""Where there is nothing but attention, sequences go through it one by one, all of a tile to the values' gradients."""
FEW_QUERIES = 8
"""Sequences with fewer queries go together all the same: the losses of one would not fill a vector's time."""


class KernelSource(IntEnum):
    """`Source` as in kernel_common.h."""

    TABLES = 0
    DROPPED = 1
    ROWS = 2
    DENSE = 3


class KernelNorm(IntEnum):
    """`Norm` as in kernel_common.h."""

    NONE = 0
    POST = 1
    PRE = 2


KERNEL_SOURCES: dict[Source, KernelSource] = {
    "tables": KernelSource.TABLES,
    "dropped": KernelSource.DROPPED,
    "sums": KernelSource.ROWS,
    "pairs": KernelSource.ROWS,
    "dense": KernelSource.DENSE,
}


class KernelModel:
    """The blocks' structures, together with the tensors behind their addresses."""

    def __init__(
        self,
        decoder: Decoder,
        folded: list[FoldedBlock],
        *,
        queries: int,
        chunk: int,
        rates: DropoutConfig,
        source: Source,
        token_rows: int,
    ) -> None:
        self.tensors = [_with_both_ways(decoder, index, weights) for index, weights in enumerate(folded)]
        tile, together = _tile(decoder, folded, queries, source)
        self.blocks = (Block * len(folded))(
            *(
                _structure(
                    decoder,
                    index,
                    tensors,
                    counted=queries,
                    source=source if index == 0 else "dense",
                    rates=rates,
                    token_rows=token_rows,
                    tile=(tile, together, sequences_at_a_time(chunk, queries)),
                )
                for index, tensors in enumerate(self.tensors)
            )
        )
        self.structure = Model(blocks=len(folded), block=ctypes.addressof(self.blocks))


def _tile(decoder: Decoder, folded: list[FoldedBlock], queries: int, source: Source) -> tuple[int, int]:
    """Sequences that memory is for, and that go through a block together."""
    config, last = decoder.config, folded[-1]
    apart = any(weights.output_t.numel() for weights in folded)
    rowwise = source in ("sums", "pairs", "dense") or config.blocks > 1
    more = config.mlp > 0 or last.read_t.numel() > 0 or apart or rowwise
    widest, longest = pitch(decoder.layers[0].writes), decoder.positions if rowwise else queries
    most = (DROPPED_BYTES if source == "dropped" and not rowwise else TILE_BYTES) if more else ALONE_BYTES
    fitting = max(1, min(TILE, most // (4 * widest * longest)))
    tile = fitting if more or source != "dropped" else 1
    return tile, tile if more or queries < FEW_QUERIES else 1


def _with_both_ways(decoder: Decoder, index: int, folded: FoldedBlock) -> dict[str, Tensor]:
    """The folded weights, and those that are needed transposed or in blocks of columns as well."""
    config, block = decoder.config, decoder.layers[index]
    wide, none = pitch(block.writes), folded.score.new_zeros(0)
    found: dict[str, Tensor] = folded._asdict()
    size = folded.output_t.shape[0] if folded.output_t.numel() else 0
    found["output"] = rows(folded.output_t[:, : block.writes].T, pitch(size + LANES)) if size else none
    found["hidden"] = rows(folded.hidden_t[:, : config.mlp].T if config.mlp else none, wide)
    found["back_t"] = rows(folded.back[:, : config.mlp].T if config.mlp else none, wide)
    found["read"] = rows(folded.read_t[:, : decoder.dictionary].T if folded.read_t.numel() else none, wide)
    columns = head_columns(decoder, block, "apart" if size else "folded")
    for name, used in (("query", columns.score), ("key", columns.score), ("values", columns.value)):
        weight = found[f"{name}_t"]
        found[name] = in_blocks(weight) if weight.numel() else none
        found[f"{name}_back"] = in_blocks(weight.T[: config.heads * used]) if weight.numel() else none
    return found


def _structure(
    decoder: Decoder,
    index: int,
    tensors: dict[str, Tensor],
    *,
    counted: int,
    source: Source,
    rates: DropoutConfig,
    token_rows: int,
    tile: tuple[int, int, int],
) -> Block:
    config, block, positions = decoder.config, decoder.layers[index], decoder.positions
    final, merged = index == config.blocks - 1, config.score == "merged"
    queries, wide = counted if final else positions, pitch(block.writes)
    size = decoder.stream if merged else block.attention.query_HED.shape[1]
    apart, dropped = tensors["output_t"].numel() > 0, source == "dropped"
    rowwise = source in ("sums", "pairs", "dense")
    columns = head_columns(decoder, block, "apart" if apart else "folded")
    value_columns = columns.value if rowwise else block.attention.value_HED.shape[1] if apart else block.writes
    query_pitch = pitch(config.heads * columns.score)
    return Block(
        positions=positions,
        queries=queries,
        heads=config.heads,
        dictionary=decoder.dictionary,
        token_rows=token_rows,
        rows=token_rows + positions,
        writes=block.writes,
        units=config.mlp,
        context=min(config.context or positions, positions),
        tokens_pitch=eights(token_rows),
        score_pitch=eights(token_rows) + eights(queries),
        writes_pitch=wide,
        keys_pitch=eights(positions),
        queries_pitch=eights(queries),
        units_pitch=padded(config.mlp),
        read_pitch=padded(decoder.dictionary),
        value_columns=value_columns,
        value_pitch=pitch(value_columns),
        mixed_pitch=pitch(config.heads * value_columns + LANES) if apart else wide,
        head_size=size if rowwise or dropped else 0,
        score_blocks=-(-config.heads * size // COLUMNS) if dropped else 0,
        value_blocks=-(-block.writes // COLUMNS) if dropped else 0,
        project_rows=token_rows + positions + block.writes,
        source=KERNEL_SOURCES[source],
        first=index == 0,
        pairs=source == "pairs",
        merged=merged and rowwise,
        reads=decoder.stream,
        reads_pitch=pitch(decoder.stream),
        stream_pitch=pitch(decoder.stream) if source == "dense" else wide,
        head_pitch=columns.score,
        query_pitch=query_pitch,
        key_pitch=pitch(decoder.stream) if merged else query_pitch,
        values_pitch=pitch(config.heads * value_columns),
        residual=config.residual == "on",
        **_norms(decoder, index, source),
        tile=tile[0],
        together=tile[1],
        chunk=tile[2],
        epsilon=block.norm_attention.eps if config.norm != "none" else 0.0,
        drops=tuple(Drop(threshold(rate), kept_scale(rate)) for rate in site_rates(rates, block=index).values()),
        **{name: address(tensors[name]) for name in WEIGHTS},
    )


def _norms(decoder: Decoder, index: int, source: Source) -> dict[str, KernelNorm]:
    """The norm of each sum of a block. A norm before a block is that of the sum before it."""
    config, final = decoder.config, index == decoder.config.blocks - 1
    if config.norm == "none":
        return dict.fromkeys(("input_norm", "attention_norm", "mlp_norm"), KernelNorm.NONE)
    if config.norm == "post":
        return {
            "input_norm": KernelNorm.NONE,
            "attention_norm": KernelNorm.POST,
            "mlp_norm": KernelNorm.POST if config.mlp else KernelNorm.NONE,
        }
    return {
        "input_norm": KernelNorm.PRE if source == "dense" and index == 0 else KernelNorm.NONE,
        "attention_norm": KernelNorm.PRE if config.mlp or not final else KernelNorm.NONE,
        "mlp_norm": KernelNorm.PRE if config.mlp and not final else KernelNorm.NONE,
    }
