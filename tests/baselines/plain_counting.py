"""The predictors by plain counting in dictionaries, one position and one token at a time: slow, and nothing shared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

Table = dict[tuple[int, ...], Counter[int]]


def tables(corpus: Sequence[Sequence[int]], highest: int = 5) -> Table:
    """What follows every context of up to `highest` - 1 tokens in any of the sequences."""
    found: Table = defaultdict(Counter)
    for sequence in corpus:
        for i, token in enumerate(sequence):
            for size in range(min(highest - 1, i) + 1):
                found[tuple(sequence[i - size : i])][token] += 1
    return found


def mix(counts: Counter[int], base: list[float]) -> list[float]:
    """Witten and Bell's formula, token by token."""
    types, total = len(counts), sum(counts.values())
    return [(counts[w] + types * base[w]) / (total + types) if total else base[w] for w in range(len(base))]


def predict(context: Sequence[int], found: Table, vocabulary: int) -> list[list[float]]:
    """All eight predictors after these tokens: ngram_0 to ngram_5, context_1, context_2."""
    answers = [[1 / vocabulary] * vocabulary]
    for size in range(5):
        known = found[tuple(context[len(context) - size :])] if len(context) >= size else Counter()
        answers.append(mix(known, answers[-1]))
    alone = mix(Counter(context), answers[1])
    after = Counter(b for a, b in pairwise(context) if a == context[-1])
    return [*answers, alone, mix(after, alone)]
