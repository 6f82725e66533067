"""One smoothing for every predictor that counts: Witten and Bell's, which has nothing to choose.

After a context in which `total` tokens were seen, `types` different ones, a token that was seen `count` times has

    p(token) = (count + types * base(token)) / (total + types),

where `base` is the predictor that sees one token less. A context that was never seen leaves the base as it is; one
that was seen often hardly needs it. As the last base is uniform, every token has some probability.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Smoothed:
    """A predictor at P positions: `share` on tokens that were counted there, and `rest` times its base everywhere."""

    name: str
    base: str
    position_N: np.ndarray
    token_N: np.ndarray
    share_N: np.ndarray
    rest_P: np.ndarray


def smoothed(name: str, counts: tuple[np.ndarray, np.ndarray, np.ndarray], *, base: str, positions: int) -> Smoothed:
    """The predictor of these counts: position, token and how often, each pair once."""
    position_N, token_N, count_N = counts
    total_P = np.bincount(position_N, weights=count_N, minlength=positions)
    types_P = np.bincount(position_N, minlength=positions)
    share_N = count_N / (total_P + types_P)[position_N]
    rest_P = np.where(types_P > 0, types_P / np.maximum(total_P + types_P, 1), 1.0)
    return Smoothed(name, base, position_N, token_N, share_N, rest_P)


def unigram(alone_V: np.ndarray) -> np.ndarray:
    """The distribution of single tokens that were seen so often; its base is the uniform one."""
    types = np.count_nonzero(alone_V)
    return np.asarray((alone_V + types / len(alone_V)) / (alone_V.sum() + types))
