"""What the first block's attention reads, and where its output matrix is: whatever costs least for a batch's sizes.

The same sizes give the same plan on every machine and at every moment, so that the same command computes the same bits.
"""

from __future__ import annotations

from typing import NamedTuple

from headwise.model import kernel
from headwise.model.config import ModelConfig
from headwise.model.cost import BatchSizes, cost, work
from headwise.model.decoder import Decoder, head_size
from headwise.model.dropout import threshold
from headwise.model.folded import output_place
from headwise.model.folded_blocks import Source
from headwise.model.tables import Output

WORTH_IT = 0.97
"""The usual source of a model is left only for one that the model of costs says is cheaper by this factor."""


MOST_ELEMENTS = 1e7
"""Elements of tables of queries, keys and values: with gradients and sums in double they take 0.3 GB."""


class Plan(NamedTuple):
    """One way to compute a batch."""

    source: Source
    output: Output


def possible(model: ModelConfig, *, training: bool, dropout: bool = True) -> tuple[Source, ...]:
    """What the first block's attention can read: no table holds dropped inputs, and only pairs of rows a norm."""
    dropped = training and dropout and threshold(model.dropout.embedding) > 0
    if model.norm == "pre":
        return ("dense",) if dropped else ("pairs", "dense")
    return ("dropped", "dense") if dropped else ("tables", "sums", "pairs", "dense")


def plan(
    decoder: Decoder,
    *,
    batch: int,
    queries: int,
    chunk: int,
    training: bool,
    dropout: bool = True,
    tokens: int | None = None,
    source: Source | None = None,
    output: Output | None = None,
    level: str | None = None,
) -> Plan:
    """The cheapest plan for a batch; `source` and `output` fix a part of it where they are possible.

    A training step without `dropout` drops nothing, whatever the model's rates are. `tokens` have rows in tables, by
    default all of the dictionary; `level` is the kernel's instruction level, by default the one in use.
    """
    model = decoder.config
    sources = possible(model, training=training, dropout=dropout)
    if source in sources:
        sources = (source,)
    sizes = batch_sizes(decoder, batch=batch, queries=queries, chunk=chunk, training=training, tokens=tokens)
    plans = [Plan(name, place) for name in sources for place in _outputs(decoder, sizes.queries, name, output)]
    plans = [found for found in plans if _fits(sizes, found)] or plans
    held = kernel.level() if level is None else level
    costs = {found: cost(sizes, found.source, found.output, level=held) for found in plans}
    cheapest = min(plans, key=lambda found: costs[found])
    return cheapest if costs[cheapest] < WORTH_IT * costs[plans[0]] else plans[0]


def _fits(sizes: BatchSizes, planned: Plan) -> bool:
    """Whether tables of rows stay small enough; the other sources are needed or small in any case."""
    if planned.source not in ("sums", "pairs"):
        return True
    return work(sizes, planned.source, planned.output).elements <= MOST_ELEMENTS


def _outputs(decoder: Decoder, queries: int, source: Source, output: Output | None) -> tuple[Output, ...]:
    """Where the output matrix can be: dropped inputs have it folded in, and tables have a rule of their own."""
    if output is not None:
        return (output,)
    if source == "tables":
        return (output_place(decoder, queries),)
    return ("folded",) if decoder.config.output == "off" or source == "dropped" else ("folded", "apart")


def batch_sizes(
    decoder: Decoder, *, batch: int, queries: int, chunk: int, training: bool, tokens: int | None = None
) -> BatchSizes:
    """What the costs of a batch depend on."""
    model, block = decoder.config, decoder.layers[0]
    return BatchSizes(
        model=model,
        dictionary=decoder.dictionary if tokens is None else tokens,
        positions=decoder.positions,
        stream=decoder.stream,
        writes=block.writes,
        head=head_size(model, decoder.stream),
        batch=batch,
        queries=queries if model.blocks == 1 else decoder.positions,
        chunk=chunk,
        training=training,
    )
