"""Counts within the sequence itself: which tokens it holds up to a position, and which followed earlier copies of the
token there. Predictors made of these learn each sequence anew, as induction heads do.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headwise.baselines.following import runs_of_real_tokens

CHUNK = 2**22
"""Pairs of positions that are compared at a time."""

Counts = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Position, token and how often, each pair once."""


def count_in_context(
    tokens_BS: np.ndarray, valid_BS: np.ndarray, position_P: np.ndarray, *, vocabulary: int
) -> tuple[Counts, Counts]:
    """Tokens of the sequence up to and with each position, and tokens that followed earlier copies of its token.

    Only the real tokens in a row that end at the position count: nothing before a gap of padding.
    """
    alone, after = [], []
    for place, seen_QS, row_QS in _seen(tokens_BS, valid_BS, position_P):
        query, key = np.nonzero(seen_QS)
        alone.append((query + place) * vocabulary + row_QS[query, key])
        own = tokens_BS.ravel()[position_P[place : place + len(seen_QS)]]
        copied_QS = seen_QS[:, :-1] & seen_QS[:, 1:] & (row_QS[:, :-1] == own[:, None])
        query, key = np.nonzero(copied_QS)
        after.append((query + place) * vocabulary + row_QS[query, key + 1])
    return _counts(alone, vocabulary), _counts(after, vocabulary)


def _seen(
    tokens_BS: np.ndarray, valid_BS: np.ndarray, position_P: np.ndarray
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Some positions at a time: the first one's number, which keys each of them has seen, and its sequence."""
    length = tokens_BS.shape[1]
    run_BS = runs_of_real_tokens(valid_BS)
    size = max(1, CHUNK // length)
    for place in range(0, len(position_P), size):
        row, column = np.divmod(position_P[place : place + size], length)
        behind_QS = column[:, None] - np.arange(length)
        yield place, (behind_QS >= 0) & (behind_QS < run_BS[row, column][:, None]), tokens_BS[row]


def _counts(keys: list[np.ndarray], vocabulary: int) -> Counts:
    found, count = np.unique(np.concatenate(keys), return_counts=True)
    return found // vocabulary, found % vocabulary, count
