"""What the attention of one pass is measured against: the tokens shown, which of them are real, and what even attention
would be. Shape letters are those of `headwise.probe.adapter`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor

Kept = TypeVar("Kept")


class Shown:
    """The sequences of one pass as one layer sees them; layers of a pass that see the same share one.

    `ahead`: queries see what lies ahead of them, as in an encoder. `window`: the smallest and the largest lag that a
    query can see, where a sliding window is shorter than the sequence (`sliding_window`). Other masks of a model's own
    are not known here: a query is taken to see every real token up to its own, or every real token of its sequence.
    """

    def __init__(
        self,
        tokens_BS: Tensor | None,
        valid_BK: Tensor,
        *,
        queries: int,
        ahead: bool,
        window: tuple[int, int] | None = None,
    ) -> None:
        self.tokens_BS, self.valid_BK, self.queries, self.ahead = tokens_BS, valid_BK, queries, ahead
        self.window = window
        self._kept: dict[Any, Any] = {}

    def once(self, key: object, compute: Callable[[], Kept]) -> Kept:
        """Computed at the first call with this key, remembered after it."""
        if key not in self._kept:
            self._kept[key] = compute()
        found: Kept = self._kept[key]
        return found

    @property
    def sequences(self) -> int:
        return self.valid_BK.shape[0]

    @property
    def keys(self) -> int:
        return self.valid_BK.shape[1]

    @property
    def offset(self) -> int:
        """Position of the first counted query."""
        return self.keys - self.queries

    @cached_property
    def counted_BQ(self) -> Tensor:
        """Which queries count: real tokens among the last positions."""
        return self.valid_BK[:, self.offset :]

    @cached_property
    def compared_Q(self) -> Tensor:
        """How many sequences have a counted query at this position."""
        return self.counted_BQ.sum(0)

    @cached_property
    def compared_BQ(self) -> Tensor:
        """Counted queries at whose position another sequence has one too."""
        return self.counted_BQ & (self.compared_Q > 1)

    @cached_property
    def near_QK(self) -> Tensor:
        """Keys in the window of the query, before it and ahead of it."""
        near = torch.ones(self.queries, self.keys, dtype=torch.bool, device=self.valid_BK.device)
        if self.window is None:
            return near
        smallest, largest = self.window
        return near.tril(self.offset + 1 - smallest).triu(self.offset + 1 - largest)

    @cached_property
    def earlier_QK(self) -> Tensor:
        """Keys before the query or at it, in its window."""
        return self.near_QK.tril(self.offset)

    @cached_property
    def visible_BQK(self) -> Tensor:
        """Real keys that a counted query can see."""
        visible = self.valid_BK[:, None, :] & self.counted_BQ[:, :, None]
        return visible & (self.near_QK if self.ahead else self.earlier_QK)

    @cached_property
    def seen_BQ(self) -> Tensor:
        """How many tokens each query can see; at least 1, so that it can be divided by."""
        return self.visible_BQK.sum(-1).clamp(min=1)

    @cached_property
    def even_BHQK(self) -> Tensor:
        """Attention of a head, the only one, that looks evenly at all it can see."""
        return (self.visible_BQK / self.seen_BQ[..., None])[:, None]

    @cached_property
    def own_BHQK(self) -> Tensor:
        """Attention of a head, the only one, that looks at one token alone, the query's own."""
        own = torch.eye(self.keys, device=self.valid_BK.device)[self.offset :]
        return torch.where(self.counted_BQ[..., None], own, 0.0)[:, None]
