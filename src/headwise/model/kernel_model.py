"""A folded decoder as the kernel's own structure: sizes, distances of rows, dropout rates and addresses."""

from __future__ import annotations

from headwise.model.config import DropoutConfig
from headwise.model.decoder import Decoder
from headwise.model.dropout import kept_scale, threshold
from headwise.model.engine import sequences_at_a_time
from headwise.model.folded import COLUMNS, LANES, Folded, eights, padded, pitch, rows
from headwise.model.kernel_structures import Drop, Model, address

TILE = 128
TILE_BYTES = 3 << 16
"""Sequences that go through the block together, and bytes of one of their activations: several fit the second cache."""
ALONE_BYTES = 5 << 13
"""Where there is nothing but attention, sequences go through it one by one, all of a tile to the values' gradients."""


class KernelModel:
    """A folded decoder as the kernel's structure, together with the tensors behind its addresses."""

    def __init__(self, decoder: Decoder, folded: Folded, *, queries: int, chunk: int, rates: DropoutConfig) -> None:
        config, block = decoder.config, decoder.layers[0]
        wide, positions = pitch(block.writes), decoder.positions
        size = decoder.stream if config.score == "merged" else block.attention.query_HED.shape[1]
        apart = folded.output_t.numel() > 0
        value_columns = block.attention.value_HED.shape[1] if apart else block.writes
        # A head's last vector may run past its own columns.
        mixed_pitch = pitch(config.heads * value_columns + LANES) if apart else wide
        self.tensors = {
            **folded._asdict(),
            "output": rows(folded.output_t[:, : block.writes].T, mixed_pitch) if apart else folded.output_t,
            "hidden": rows(folded.hidden_t[:, : config.mlp].T if config.mlp else folded.hidden_t, wide),
            "back_t": rows(folded.back[:, : config.mlp].T if config.mlp else folded.back, wide),
            "read": rows(folded.read_t[:, : decoder.dictionary].T if folded.read_t.numel() else folded.read_t, wide),
        }
        more = config.mlp > 0 or folded.read_t.numel() > 0 or apart
        fitting = max(1, min(TILE, (TILE_BYTES if more else ALONE_BYTES) // (4 * wide * queries)))
        tile = fitting if more or not folded.project.numel() else 1
        by_site = (rates.embedding, rates.attention, rates.attention_branch, rates.mlp, rates.mlp_branch)
        self.structure = Model(
            positions=positions,
            queries=queries,
            heads=config.heads,
            dictionary=decoder.dictionary,
            rows=decoder.dictionary + positions,
            writes=block.writes,
            units=config.mlp,
            context=min(config.context or positions, positions),
            tokens_pitch=eights(decoder.dictionary),
            score_pitch=eights(decoder.dictionary) + eights(queries),
            writes_pitch=wide,
            keys_pitch=eights(positions),
            queries_pitch=eights(queries),
            units_pitch=padded(config.mlp),
            read_pitch=padded(decoder.dictionary),
            value_columns=value_columns,
            value_pitch=pitch(value_columns),
            mixed_pitch=mixed_pitch,
            head_size=size if folded.project.numel() else 0,
            score_blocks=-(-config.heads * size // COLUMNS) if folded.project.numel() else 0,
            value_blocks=-(-block.writes // COLUMNS) if folded.project.numel() else 0,
            project_rows=decoder.dictionary + positions + block.writes,
            residual=config.residual == "on",
            norm=config.norm == "post",
            together=tile if more else 1,
            tile=tile,
            chunk=sequences_at_a_time(chunk, queries),
            epsilon=block.norm_attention.eps if config.norm == "post" else 0.0,
            drops=tuple(Drop(threshold(rate), kept_scale(rate)) for rate in by_site),
            **{name: address(tensor) for name, tensor in self.tensors.items()},
        )
