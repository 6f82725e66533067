"""How often each token follows the contexts of a batch in a corpus, for every order of n-grams at once.

Only contexts that the batch holds are counted: memory grows with the batch and with what follows its contexts, never
with the corpus. A context is known by a number that is exact, not by a hash: the place of (its last tokens, one token
before them) in a sorted list of those of the batch. Shape letters: P positions, V vocabulary, C contexts, N pairs of a
context and a token that follows it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headwise.baselines.corpus import HIGHEST_ORDER, Corpus
from headwise.core.errors import ConfigError

LARGEST_TABLE = 2**22
"""Entries up to which a table of all pairs is kept; beyond that a sorted list of those that occur."""


@dataclass(frozen=True)
class Following:
    """Counts of one order n: what follows each context of n - 1 tokens."""

    context_P: np.ndarray
    """the context of each position; -1 where the sequence has fewer tokens up to there"""
    starts_C: np.ndarray
    """the pairs of context c are `starts_C[c]` to `starts_C[c + 1]`; one entry more than contexts"""
    token_N: np.ndarray
    count_N: np.ndarray

    def of_positions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The pairs of every position's context one after the other: position, token, count."""
        known = np.flatnonzero(self.context_P >= 0)
        first = self.starts_C[self.context_P[known]]
        many = self.starts_C[self.context_P[known] + 1] - first
        entry = np.repeat(first - np.concatenate([[0], np.cumsum(many)[:-1]]), many) + np.arange(many.sum())
        return np.repeat(known, many), self.token_N[entry], self.count_N[entry]


class _Contexts:
    """The contexts of one order, as a sorted list of (shorter context, token before it), each pair as one number."""

    def __init__(self, keys: np.ndarray, *, shorter: int, vocabulary: int) -> None:
        self.keys = np.unique(keys)
        self._table: np.ndarray | None = None
        if shorter * vocabulary <= LARGEST_TABLE:
            self._table = np.full(shorter * vocabulary, -1, dtype=np.int64)
            self._table[self.keys] = np.arange(len(self.keys))

    def places(self, keys: np.ndarray) -> np.ndarray:
        """The place of each key in the list; -1 for those that are not in it."""
        if self._table is not None:
            return np.asarray(self._table[keys])
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, place, -1)


class _Pairs:
    """How often each pair of a context and a next token was given, each pair as one number below `limit`."""

    def __init__(self, limit: int) -> None:
        self._table = np.zeros(limit, dtype=np.int64) if limit <= LARGEST_TABLE else None
        self._pairs = np.zeros(0, dtype=np.int64)
        self._counts = np.zeros(0, dtype=np.int64)

    def add(self, pairs: np.ndarray) -> None:
        if self._table is not None:
            self._table += np.bincount(pairs, minlength=len(self._table))
            return
        found, counts = np.unique(pairs, return_counts=True)
        self._pairs, place = np.unique(np.concatenate([self._pairs, found]), return_inverse=True)
        counts = np.concatenate([self._counts, counts])
        self._counts = np.zeros(len(self._pairs), dtype=np.int64)
        np.add.at(self._counts, place, counts)

    def sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """The pairs that were given and their counts."""
        if self._table is None:
            return self._pairs, self._counts
        pairs = np.flatnonzero(self._table)
        return pairs, self._table[pairs]


def runs_of_real_tokens(valid_BS: np.ndarray) -> np.ndarray:
    """How many real tokens in a row end at each position, (sequences, positions)."""
    column = np.arange(1, valid_BS.shape[1] + 1)
    last_gap = np.maximum.accumulate(np.where(valid_BS, 0, column), axis=1)
    return np.asarray(column - last_gap)


def count_following(
    corpus: Corpus, tokens_BS: np.ndarray, valid_BS: np.ndarray, position_P: np.ndarray, *, vocabulary: int
) -> tuple[np.ndarray, list[Following]]:
    """How often each token occurs in the corpus, (V,), and what follows the contexts of orders 2 to 5.

    `position_P` are places in the flattened batch; the context of a position ends with its own token, and padding
    (where `valid_BS` is false) is part of none.
    """
    tokens, run = tokens_BS.ravel(), runs_of_real_tokens(valid_BS).ravel()[position_P]
    lists: list[_Contexts] = []
    contexts: list[np.ndarray] = []
    context_P, shorter = np.zeros(len(position_P), dtype=np.int64), 1
    for size in range(1, HIGHEST_ORDER):
        known = run >= size
        keys = context_P[known] * vocabulary + tokens[position_P[known] - size + 1]
        lists.append(_Contexts(keys, shorter=shorter, vocabulary=vocabulary))
        context_P, shorter = np.full(len(position_P), -1, dtype=np.int64), len(lists[-1].keys)
        context_P[known] = np.searchsorted(lists[-1].keys, keys)
        contexts.append(context_P)
    alone = np.zeros(vocabulary, dtype=np.int64)
    pairs = [_Pairs(len(known.keys) * vocabulary) for known in lists]
    for block, first in corpus.blocks():
        lowest, highest = int(block.min()), int(block.max())
        if lowest < 0 or highest >= vocabulary:
            raise ConfigError(f"corpus: ids range over {lowest}..{highest}, the model has 0..{vocabulary - 1}")
        alone += np.bincount(block[:, first:].ravel(), minlength=vocabulary)
        _count_block(block, first, lists, pairs, vocabulary=vocabulary)
    return alone, [
        _following(context_P, *counted.sorted(), contexts=len(known.keys), vocabulary=vocabulary)
        for context_P, known, counted in zip(contexts, lists, pairs, strict=True)
    ]


def _following(
    context_P: np.ndarray, pairs: np.ndarray, counts: np.ndarray, *, contexts: int, vocabulary: int
) -> Following:
    starts = np.searchsorted(pairs, np.arange(contexts + 1) * vocabulary)
    return Following(context_P, starts, pairs % vocabulary, counts)


def _count_block(
    block: np.ndarray, first: int, lists: list[_Contexts], pairs: list[_Pairs], *, vocabulary: int
) -> None:
    """Add the next tokens of one piece; places whose last tokens are no context of the batch drop out early."""
    length, ids = block.shape[1], block.ravel()
    column = np.arange(max(first - 1, 0), length - 1)
    place = (np.arange(len(block))[:, None] * length + column).ravel()
    context = np.zeros(len(place), dtype=np.int64)
    for size, (known, counted) in enumerate(zip(lists, pairs, strict=True), start=1):
        if not len(known.keys):
            return
        if size > 1:
            reaches = place % length >= size - 1
            place, context = place[reaches], context[reaches]
        context = known.places(context * vocabulary + ids[place - size + 1])
        place, context = place[context >= 0], context[context >= 0]
        counted.add(context * vocabulary + ids[place + 1])
