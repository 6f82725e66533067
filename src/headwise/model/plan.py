"""What the first block's attention reads, and where its output matrix is: whatever costs least for a batch's sizes.

The same sizes give the same plan on every machine and at every moment, so that the same command computes the same bits.
"""

from __future__ import annotations

from typing import NamedTuple

from headwise.model.config import ModelConfig
from headwise.model.decoder import Decoder
from headwise.model.dropout import threshold
from headwise.model.folded import output_place
from headwise.model.folded_blocks import Source
from headwise.model.tables import Output


class Plan(NamedTuple):
    """One way to compute a batch."""

    source: Source
    output: Output


def possible(model: ModelConfig, *, training: bool) -> tuple[Source, ...]:
    """What the first block's attention can read: no table holds dropped inputs, and only pairs of rows a norm."""
    dropped = training and threshold(model.dropout.embedding) > 0
    if model.norm == "pre":
        return ("dense",) if dropped else ("pairs", "dense")
    return ("dropped", "dense") if dropped else ("tables", "sums", "pairs", "dense")


def plan(
    decoder: Decoder,
    *,
    batch: int,
    queries: int,
    training: bool,
    source: Source | None = None,
    output: Output | None = None,
) -> Plan:
    """The plan for a batch; `source` and `output` fix a part of it where they are possible."""
    sources = possible(decoder.config, training=training)
    taken = source if source in sources else sources[0]
    first_queries = queries if decoder.config.blocks == 1 else decoder.positions
    if output is None:
        output = output_place(decoder, first_queries)
    return Plan(taken, output)


def on_tables(model: ModelConfig) -> bool:
    """Whether the kernel of one block on tables can compute this model."""
    return model.blocks == 1 and model.norm != "pre"


def for_one_block(model: ModelConfig, source: Source) -> bool:
    """Whether that kernel computes it from this source."""
    return on_tables(model) and source in ("tables", "dropped")
