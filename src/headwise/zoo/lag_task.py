"""Tokens whose law depends on a few earlier ones: softmax of the sum over groups of lags of matrix rows (paper §2.1).

The matrix of group i is orthogonal times strength * ratio^(groups - 1 - i): the first group matters most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Groups = Sequence[Sequence[int]]


def lag_chain(
    *, vocabulary: int, length: int, groups: Groups, strength: float, ratio: float, generator: torch.Generator
) -> Callable[[torch.Generator, int], Tensor]:
    """A function that draws sequences of `length` tokens from one such law; the law comes from `generator`."""
    features = lag_features(vocabulary=vocabulary, groups=groups, strength=strength, ratio=ratio, generator=generator)
    before = max(lag for group in groups for lag in group)

    def draw(rng: torch.Generator, count: int) -> Tensor:
        tokens = torch.randint(vocabulary, (count, before + length), generator=rng)
        for t in range(before, before + length):
            logits = sum(
                (feature[tokens[:, t - lag]] for feature, group in zip(features, groups, strict=True) for lag in group),
                torch.zeros(count, vocabulary),
            )
            tokens[:, t] = torch.multinomial(logits.softmax(-1), 1, generator=rng)[:, 0]
        return tokens[:, before:]

    return draw


def lag_features(
    *, vocabulary: int, groups: Groups, strength: float, ratio: float, generator: torch.Generator
) -> list[Tensor]:
    """The matrix of each group, (vocabulary, vocabulary): row of the earlier token, scores of the next one."""
    sizes = [strength * ratio ** (len(groups) - 1 - i) for i in range(len(groups))]
    return [torch.linalg.qr(torch.randn(vocabulary, vocabulary, generator=generator))[0] * size for size in sizes]
