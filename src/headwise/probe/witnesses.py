"""Two witnesses of induction, and what they say together.

The first is the batch of the looks; the second, sequences drawn for the purpose that repeat themselves with varied
periods. A head is an induction head as far as neither contradicts: where the repeats give less than half of what the
batch gives, theirs is the score (a head that looks for likely next tokens, wherever they are, does well on text alone).
Where the batch cannot tell content from position, because its sequences have their followers at the same places, as
repeats of one period have, the repeats alone decide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headwise.probe.role_sums import RoleSums


@dataclass(frozen=True)
class Judged:
    """Induction of the heads of one layer: score and chance, (heads,), score by fold, (folds, heads)."""

    score: np.ndarray
    chance: np.ndarray
    by_fold: np.ndarray


def judge(batch: RoleSums, index: int, repeats: RoleSums | None) -> Judged:
    """`index`: of induction among the roles of the batch. NaN where neither can tell."""
    own = Judged(batch.score()[:, index], batch.chance()[:, index], batch.by_fold()[..., index])
    if repeats is None or not repeats.count[0]:
        return own
    second = repeats.score()[:, 0]
    if not batch.told()[index]:
        turn = np.arange(batch.folds) % repeats.folds
        return Judged(second, repeats.chance()[:, 0], repeats.by_fold()[turn, :, 0])
    contradicted = (own.score > 0) & (second < own.score / 2)
    score = np.where(contradicted, np.maximum(second, 0.0), own.score)
    factor = np.where(contradicted, score / np.where(contradicted, own.score, 1.0), 1.0)
    return Judged(score, own.chance, own.by_fold * factor)
