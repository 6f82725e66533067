"""Role scores of one layer, added up over passes in folds of the batch's sequences, however many there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from headwise.probe.role import FEWEST_QUERIES, MOST_EXPLAINED, Role, Seen, above_chance, explained, measured

MOST_FOLDS = 16


class RoleSums:
    """Sums of each role's share and chance, (folds, heads, roles), and of the queries that could have it."""

    def __init__(self, roles: Sequence[Role], *, sequences: int, heads: int) -> None:
        self.roles, self.folds = tuple(roles), min(sequences, MOST_FOLDS)
        self._share = np.zeros((self.folds, heads, len(self.roles)))
        self._chance = np.zeros_like(self._share)
        self._count = np.zeros((self.folds, len(self.roles)))
        self._explained = np.zeros(len(self.roles))
        self._met = 0

    def add(self, seen: Seen) -> None:
        """One layer of one pass; sequences go to the folds in turn."""
        shape = seen.weights_BHQK.shape[:2]
        fold = (self._met + np.arange(shape[0])) % self.folds
        self._met += shape[0]
        for index, role in enumerate(self.roles):
            found = measured(role, seen)
            if found is None:
                continue
            share, chance = found
            sums = torch.stack([share.sum_BH, chance.to(share.sum_BH.dtype).expand(shape)]).cpu().double().numpy()
            np.add.at(self._share[..., index], fold, sums[0])
            np.add.at(self._chance[..., index], fold, sums[1])
            np.add.at(self._count[:, index], fold, share.count_B.cpu().numpy())
            perfect = explained(role, seen.shown)
            if perfect is not None:
                self._explained[index] += float(perfect.sum())

    @property
    def count(self) -> np.ndarray:
        """Queries that each role's share is the mean over."""
        return np.asarray(self._count.sum(0))

    def chance(self) -> np.ndarray:
        """Chance of each role, (heads, roles); NaN where no query could have it."""
        return _mean(self._chance.sum(0), self.count)

    def told(self) -> np.ndarray:
        """Whether this batch can tell a head of each role from one that looks at positions alone."""
        of_tokens = np.array([role.perfect is not None for role in self.roles], dtype=bool)
        vague = (_mean(self._explained, self.count) > MOST_EXPLAINED) | (self.count < FEWEST_QUERIES)
        return np.asarray(~(of_tokens & vague))

    def score(self) -> np.ndarray:
        """How far each head goes above chance, (heads, roles)."""
        score = above_chance(_mean(self._share.sum(0), self.count), self.chance())
        return np.where(self.told(), score, np.nan)

    def by_fold(self) -> np.ndarray:
        """The same on each fold, (folds, heads, roles)."""
        count = self._count[:, None]
        score = above_chance(_mean(self._share, count), _mean(self._chance, count))
        return np.where(self.told(), score, np.nan)


def _mean(sums: np.ndarray, count: np.ndarray) -> np.ndarray:
    return np.where(count > 0, sums / np.where(count > 0, count, 1.0), np.nan)
