"""How fast it could be: the multiplications and additions a path cannot avoid, at the machine's matrix-product rate."""

from __future__ import annotations

import time

import torch

from headwise.bench.cases import Name, Sizes
from headwise.model.dropout import threshold


def operations(case: Name, sizes: Sizes) -> float:
    """Floating-point operations in matrix products of one step (forward and twice that backward) or one evaluation.

    Attention counts the pairs of query and key that see each other, each head with rows of the stream's width or, where
    that is less, of its own and a product with the output matrix; dropped inputs count only their dropped coordinates.
    Softmax, norms, dropout, table lookups and scatters are left out: they are the distance to the floor.
    """
    model, last = sizes.model, sizes.model.blocks - 1
    per_sequence = 0.0
    for block in range(model.blocks):
        queries = sizes.T if block == last else sizes.positions
        per_sequence += _attention(case, sizes, block=block, queries=queries)
        per_sequence += queries * _writes(sizes, block) * (2 * model.mlp)
    if model.unembedding == "learned":
        per_sequence += sizes.T * _writes(sizes, last) * sizes.d
    passes = 1 if case == "evaluation" else 3
    return 2.0 * passes * per_sequence * sizes.batch


def _stream(sizes: Sizes) -> int:
    return sizes.d + sizes.positions if sizes.model.embedding == "one_hot" else sizes.model.width


def _writes(sizes: Sizes, block: int) -> int:
    """What a block writes: all of the stream, but only logits in the last block of a minimal model."""
    return sizes.d if sizes.model.embedding == "one_hot" and block == sizes.model.blocks - 1 else _stream(sizes)


def _attention(case: Name, sizes: Sizes, *, block: int, queries: int) -> float:
    """Multiplications of one block's attention, of one sequence, in the cheapest of the known ways."""
    model, positions, stream, writes = sizes.model, sizes.positions, _stream(sizes), _writes(sizes, block)
    first = positions - queries
    pairs = sum(min(first + q + 1, model.context or positions) for q in range(queries))
    dropped_inputs = case != "evaluation" and threshold(model.dropout.embedding) > 0
    head = model.width // model.heads if model.embedding == "learned" else stream
    merged = model.score == "merged"
    folded = float(model.heads * pairs * writes)
    apart = float(model.heads * head * (pairs + queries * writes)) if model.output == "on" else folded
    scores = float(model.heads * pairs * head)
    if block > 0 or (model.norm == "pre" and dropped_inputs):
        keys = 0 if merged else model.heads * head
        values = model.heads * (head if model.output == "on" else writes)
        return stream * float(queries * model.heads * head + positions * (keys + values)) + scores + apart
    if model.norm == "pre":
        return scores + min(folded, apart)
    if dropped_inputs:
        dropped = model.dropout.embedding * model.width
        columns = positions * (model.width + model.heads * writes) + queries * model.width
        return folded + dropped * columns + scores
    return min(folded, apart)


def product_rate() -> float:
    """Floating-point operations per second of torch's matrix product on one thread: the best of a few shapes."""
    best = 0.0
    for rows, depth, columns in ((1000, 256, 64), (1000, 256, 256), (1500, 1500, 1500)):
        a, b, out = torch.randn(rows, depth), torch.randn(depth, columns), torch.empty(rows, columns)
        for _ in range(12):
            start = time.perf_counter()
            torch.mm(a, b, out=out)
            best = max(best, 2.0 * rows * depth * columns / (time.perf_counter() - start))
    return best
