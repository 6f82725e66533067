"""The corpus that n-grams are counted on: token ids, checked once and read in blocks, so that a memory-mapped file of
any length is never held as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from headwise.core.errors import ConfigError

HIGHEST_ORDER = 5
"""The longest n-grams that are counted: four tokens and the one that follows them."""
BLOCK = 2**20
"""Tokens that are read at a time."""
LONGEST_CORPUS = 2**27
"""Tokens that are counted of a longer corpus: its first ones."""


@dataclass(frozen=True)
class Corpus:
    """Token ids, (sequences, positions). N-grams do not reach from one sequence into the next."""

    ids: np.ndarray
    tokens_given: int
    """How many tokens there were before the corpus was cut to those that are counted."""

    def blocks(self) -> Iterator[tuple[np.ndarray, int]]:
        """Pieces (sequences, positions) and the first column of each that is to be counted as a next token.

        The columns before it are repeated from the piece before: what the first ones to be counted follow.
        """
        rows, length = self.ids.shape
        if length <= BLOCK:
            most = max(1, BLOCK // length)
            for start in range(0, rows, most):
                yield np.asarray(self.ids[start : start + most], dtype=np.int64), 0
            return
        for row in self.ids:
            for start in range(0, length, BLOCK):
                first = min(start, HIGHEST_ORDER - 1)
                yield np.asarray(row[start - first : start + BLOCK], dtype=np.int64)[None], first


def as_corpus(given: Any) -> Corpus:
    """What the user gave as a corpus: one row of ids, or (sequences, positions); an array, a tensor or nested lists."""
    try:
        ids = given if isinstance(given, np.ndarray) else np.asarray(given)
    except (ValueError, TypeError, RuntimeError):
        raise ConfigError("corpus: give token ids as one row, or as (sequences, positions) of one length") from None
    if ids.dtype.kind not in "iu" or ids.ndim not in (1, 2) or not ids.size:
        raise ConfigError(
            f"corpus holds {ids.dtype} of shape {ids.shape}; give token ids as one row or as (sequences, positions)"
        )
    rows = np.atleast_2d(ids)[:, :LONGEST_CORPUS]
    return Corpus(rows[: max(1, LONGEST_CORPUS // rows.shape[1])], int(ids.size))
