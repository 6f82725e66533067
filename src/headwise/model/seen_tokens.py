"""The tokens that a batch has, where a large dictionary has many more: tables then need rows for these alone.

A score table grows with the square of its rows, so with a dictionary of thousands and a small batch nearly all of it
would be folded, padded and added up for nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

SMALL = 256
"""A dictionary up to this size has all its rows in every table."""
SHARE = 0.7
"""So do larger ones of which a batch has more than this share."""


class SeenTokens(NamedTuple):
    """A batch in terms of its own tokens."""

    tokens: Tensor
    """(seen,), ascending"""
    inputs: Tensor
    """the batch, each token as its place in `tokens`"""


def seen_tokens(inputs: Tensor, dictionary: int) -> SeenTokens | None:
    """The tokens of a batch, or `None` where every token of the dictionary gets its rows."""
    if dictionary <= SMALL:
        return None
    seen = torch.zeros(dictionary, dtype=torch.bool)
    seen[inputs.flatten()] = True
    tokens = seen.nonzero().flatten()
    if len(tokens) > SHARE * dictionary:
        return None
    return SeenTokens(tokens, (seen.cumsum(0) - 1)[inputs].contiguous())
