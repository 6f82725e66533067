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
    model, positions, queries = sizes.model, sizes.positions, sizes.T
    minimal = model.embedding == "one_hot"
    writes = sizes.d if minimal else model.width
    first = positions - queries
    pairs = sum(min(first + q + 1, model.context or positions) for q in range(queries))
    dropped_inputs = case != "evaluation" and threshold(model.dropout.embedding) > 0
    per_sequence = float(model.heads * pairs * writes)
    if model.output == "on" and not dropped_inputs:
        per_sequence = min(per_sequence, float(pairs * model.width + queries * model.width * writes))
    per_sequence += queries * writes * (2 * model.mlp)
    if model.unembedding == "learned":
        per_sequence += queries * writes * sizes.d
    if dropped_inputs:
        dropped = model.dropout.embedding * model.width
        columns = positions * (model.width + model.heads * writes) + queries * model.width
        per_sequence += dropped * columns + pairs * model.width
    passes = 1 if case == "evaluation" else 3
    return 2.0 * passes * per_sequence * sizes.batch


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
