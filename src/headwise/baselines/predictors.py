"""The predictors that any language model is compared with, at the positions of one batch (paper §2.3: training passes
through more and more expressive predictors).

`ngram_0` is uniform, `ngram_1` to `ngram_5` are counted on a corpus, `context_1` and `context_2` within each sequence
up to the position: its tokens, and what followed earlier copies of the last one. Each falls back on the one before it
where it has seen little, `context_1` on `ngram_1`. Shape letters: P positions, V vocabulary, K predictors, N pairs of a
position and a token.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headwise.baselines.corpus import HIGHEST_ORDER, Corpus
from headwise.baselines.following import count_following
from headwise.baselines.in_context import count_in_context
from headwise.baselines.witten_bell import Smoothed, smoothed, unigram
from headwise.core.errors import ConfigError

NAMES = (*(f"ngram_{n}" for n in range(HIGHEST_ORDER + 1)), "context_1", "context_2")

LARGEST = 2**24
"""Positions times vocabulary; of more positions that many are compared, evenly spread. No predictor then keeps more
than this many pairs of a position and a token."""
CHUNK = 2**18
"""Positions times vocabulary for which all predictors are written out at a time."""


@dataclass(frozen=True)
class Predictors:
    """Every predictor at the compared positions, in the form in which it was counted; `written_out` gives the rest."""

    vocabulary: int
    position_P: np.ndarray
    """the compared positions, as places in the flattened batch"""
    unigram_V: np.ndarray
    parts: tuple[Smoothed, ...]
    """`ngram_2` and all after it, each after its base"""

    def written_out(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Some positions at a time, all probabilities of all predictors, (K, positions, V)."""
        size = max(1, CHUNK // self.vocabulary)
        for start in range(0, len(self.position_P), size):
            rows = slice(start, min(start + size, len(self.position_P)))
            yield rows, self._probabilities(rows)

    def _probabilities(self, rows: slice) -> np.ndarray:
        many = rows.stop - rows.start
        found = {
            "ngram_0": np.full((many, self.vocabulary), 1 / self.vocabulary),
            "ngram_1": np.tile(self.unigram_V, (many, 1)),
        }
        for part in self.parts:
            first, last = np.searchsorted(part.position_N, [rows.start, rows.stop])
            p_PV = part.rest_P[rows, None] * found[part.base]
            p_PV[part.position_N[first:last] - rows.start, part.token_N[first:last]] += part.share_N[first:last]
            found[part.name] = p_PV
        return np.stack([found[name] for name in NAMES])


def count_predictors(
    corpus: Corpus, tokens_BS: np.ndarray, *, valid_BS: np.ndarray, counted_BS: np.ndarray, vocabulary: int
) -> Predictors:
    """Count the predictors of these sequences' next tokens, where `counted_BS`; `valid_BS` marks what is no padding."""
    position_P = _spread(np.flatnonzero(counted_BS & valid_BS), most=max(1, LARGEST // vocabulary))
    if not len(position_P):
        raise ConfigError("every counted token is padding; give sequences with real tokens")
    alone, following = count_following(corpus, tokens_BS, valid_BS, position_P, vocabulary=vocabulary)
    positions = len(position_P)
    parts = [
        smoothed(f"ngram_{order}", counts.of_positions(), base=f"ngram_{order - 1}", positions=positions)
        for order, counts in enumerate(following, start=2)
    ]
    own, after = count_in_context(tokens_BS, valid_BS, position_P, vocabulary=vocabulary)
    parts.append(smoothed("context_1", own, base="ngram_1", positions=positions))
    parts.append(smoothed("context_2", after, base="context_1", positions=positions))
    return Predictors(vocabulary, position_P, unigram(alone), tuple(parts))


def _spread(positions: np.ndarray, *, most: int) -> np.ndarray:
    if len(positions) <= most:
        return positions
    return positions[np.linspace(0, len(positions) - 1, most).round().astype(np.int64)]
