"""Attention of several heads as one picture in which heads that look at the same place stand side by side.

A cell is divided among the heads, each as wide as its part of the attention there and as strong as its own share, as on
the report's page. Mixing the colours instead would show three equal heads as a green that reads as the third head.
"""

from __future__ import annotations

import numpy as np

from headwise.core.palette import head_colour

STRIPES = 12
"""Pixels across a cell; up to four equal heads divide it evenly."""

FULL = 0.98
"""The colour is full at this quantile of the positive shares of a map."""


def full_share(attention: np.ndarray) -> float:
    """The share of attention at which a head's colour is full."""
    positive = attention[attention > 0]
    return float(np.quantile(positive, FULL)) if positive.size else 1.0


def striped(attention: np.ndarray) -> np.ndarray:
    """The picture, (queries, keys * STRIPES, red green blue) between 0 and 1, of attention (heads, queries, keys)."""
    shares = np.nan_to_num(np.asarray(attention, dtype=float))
    colours = np.array([rgb(head_colour(head)) for head in range(len(shares))])
    reached = np.cumsum(shares, axis=0)
    centres = (np.arange(STRIPES) + 0.5) / STRIPES
    before = reached[..., None] < centres * reached[-1][..., None]
    owner = np.minimum(before.sum(axis=0), len(shares) - 1)
    strength = np.minimum(np.take_along_axis(shares.transpose(1, 2, 0), owner, axis=2) / full_share(shares), 1.0)
    picture = 1 + strength[..., None] * (colours[owner] - 1)
    return np.asarray(picture.reshape(picture.shape[0], -1, 3))


def rgb(colour: str) -> tuple[float, float, float]:
    """Red, green and blue of `#RRGGBB`, each between 0 and 1."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue
