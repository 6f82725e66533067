"""What a batch costs with each source of the first block's attention: operations and elements, times fixed constants.

Only what differs between sources is counted; MLP, unembedding and later blocks cost the same whatever the first block
reads. Constants are seconds per operation or element on one core, fitted to measured steps at the highest instruction
level (`python -m headwise.bench.fit_costs`) and scaled for the others. They are part of the source and never measured
when a model runs: the same command must compute the same bits.
"""

from __future__ import annotations

from typing import NamedTuple

from headwise.model.config import ModelConfig
from headwise.model.dropout import threshold
from headwise.model.engine import sequences_at_a_time
from headwise.model.folded import eights, pitch
from headwise.model.folded_blocks import Source
from headwise.model.tables import Output


class BatchSizes(NamedTuple):
    """Everything that a cost depends on."""

    model: ModelConfig
    dictionary: int
    """tokens that tables have rows for"""
    positions: int
    stream: int
    writes: int
    head: int
    """columns of a head's queries, and of its values before the output matrix"""
    batch: int
    queries: int
    """positions whose queries the first block computes"""
    chunk: int
    training: bool


class Work(NamedTuple):
    """What is counted, in the order of the constants."""

    products: float
    """multiplications in products of the stream with matrices"""
    mixing: float
    """multiplications of weights and values, or queries and keys, sequence by sequence"""
    sparse: float
    """multiplications with dropped coordinates"""
    lookups: float
    """attention logits looked up in the score table, with their gradients"""
    logits: float
    """attention logits that are products"""
    gathered: float
    """floats of rows looked up and scattered"""
    folding: float
    """multiplications on the way from weights to tables and back, in torch"""
    elements: float
    """elements of tables and padded matrices"""
    drained: float
    """additions in double"""
    steps: float
    """one for each batch"""


FITTED = Work(
    products=2.30e-11,
    mixing=1.87e-11,
    sparse=5.94e-11,
    lookups=1.84e-09,
    logits=5.32e-09,
    gathered=1.60e-10,
    folding=2.05e-11,
    elements=1.16e-08,
    drained=3.05e-09,
    steps=1.31e-03,
)
"""Seconds of each at the level avx512."""


def _slower(arithmetic: float, rows: float) -> Work:
    """The constants of a lower level: how many times longer whole steps took in products, and in work on rows; what
    torch does is the same."""
    return FITTED._replace(
        products=FITTED.products * arithmetic,
        mixing=FITTED.mixing * arithmetic,
        sparse=FITTED.sparse * arithmetic,
        lookups=FITTED.lookups * rows,
        logits=FITTED.logits * rows,
        gathered=FITTED.gathered * rows,
    )


SECONDS: dict[str, Work] = {"plain": _slower(2.8, 2.0), "avx2": _slower(1.2, 1.1), "avx512": FITTED}
"""Seconds of each, by instruction level."""


def cost(sizes: BatchSizes, source: Source, output: Output, *, level: str) -> float:
    """Seconds that a step (or evaluation) takes for what depends on the source, on one core of the fitted machine."""
    counted = work(sizes, source, output)
    return sum(count * each for count, each in zip(counted, SECONDS[level], strict=True))


def pairs_seen(sizes: BatchSizes) -> int:
    """Pairs of a query and a key that it sees, of one sequence."""
    most = min(sizes.model.context or sizes.positions, sizes.positions)
    return sum(min(sizes.positions - q, most) for q in range(sizes.queries))


def work(sizes: BatchSizes, source: Source, output: Output) -> Work:
    """What one step (or evaluation) does with a source."""
    model, batch, positions, queries = sizes.model, sizes.batch, sizes.positions, sizes.queries
    heads, stream, writes = model.heads, sizes.stream, sizes.writes
    passes = 3 if sizes.training else 1
    seen = float(pairs_seen(sizes)) * heads * batch
    apart = model.output == "on" and output == "apart" and source != "dropped"
    own = apart or model.output == "off"
    value = eights(sizes.head if apart else writes)
    score = eights(stream if model.score == "merged" else sizes.head)
    query_columns, value_columns = heads * score, heads * value
    key_columns = score if model.score == "merged" else query_columns
    rows = sizes.dictionary + positions
    chunks = batch / sequences_at_a_time(sizes.chunk, queries) if sizes.training else 0.0
    products = passes * batch * queries * float(heads * sizes.head) * writes if apart else 0.0
    mixing = passes * seen * value
    sparse = lookups = logits = gathered = folding = elements = drained = 0.0
    one_hot = model.embedding == "one_hot" and model.positions == "one_hot"
    if source == "tables":
        lookups = seen * (2 if sizes.training else 1)
        score_elements = float(-(-heads // 4) * 4) * rows * (sizes.dictionary + queries)
        elements = score_elements + heads * rows * pitch(value)
        if not one_hot:
            folding = passes * heads * rows * float(2 * stream * sizes.head + rows * sizes.head + stream * sizes.head)
        if not own:
            folding += passes * heads * rows * float(sizes.head) * writes
        drained = elements * chunks
    else:
        logits = seen * (2 if sizes.training else 1)
        mixing += passes * seen * score
    if source == "dropped":
        rate = threshold(model.dropout.embedding) / (1 << 16)
        columns = float(positions * (key_columns + heads * writes) + queries * query_columns)
        sparse = passes * batch * rate * stream * columns
        gathered = passes * batch * columns
        # Cut into blocks of columns, which copies them once more.
        elements = 1.4 * (rows + stream) * float(2 * query_columns + heads * pitch(writes))
        folding = passes * rows * stream * float(2 * query_columns + heads * sizes.head)
        folding += passes * heads * (rows + stream) * float(sizes.head) * writes if model.output == "on" else 0.0
        drained = elements * chunks
    if source in ("sums", "pairs"):
        of = sizes.dictionary * positions if source == "pairs" else rows
        columns = float(query_columns + key_columns + value_columns)
        gathered = passes * batch * float(queries * query_columns + positions * (key_columns + value_columns))
        gathered *= 1 if source == "pairs" else 2
        elements = of * columns
        drained = elements
        folding = passes * of * stream * columns
    if source == "dense":
        projected = value_columns + (0 if model.score == "merged" else key_columns)
        inner = float(query_columns + projected) * stream
        rows_read = queries * query_columns + positions * projected
        products += passes * batch * stream * float(rows_read)
        gathered = passes * batch * float(positions) * stream
        elements = inner * 2 + rows * pitch(stream)
        drained = (inner + (rows * pitch(stream) if model.residual == "off" else 0)) * chunks
    return Work(products, mixing, sparse, lookups, logits, gathered, folding, elements, drained, 1.0)
