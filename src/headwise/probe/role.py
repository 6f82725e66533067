"""What a role is: a share of a head's attention, and what that share would be by chance.

A role is one file in `headwise.probe.roles` with a `ROLE`; it knows nothing of steps, layers or files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from headwise.probe.shown import Shown

Against = Literal["even", "one token", "others"]
"""What chance is. `even`: the share under even attention. `one token`: the share of a head that looks at one token.
`others`: the share when each sequence is met by the attention of the other sequences, which explains all that depends
on positions alone; only for shares that are sums of attention weights.
"""

MOST_EXPLAINED, FEWEST_QUERIES = 0.8, 16
"""Where positions explain more than this of a perfect head, or fewer queries than this could show it, the batch cannot
tell whether a head has a role of tokens: NaN.
"""
LEAST_ROOM = 0.02
"""Where chance leaves less than this, nothing can be above it: the score is 0."""


class Seen:
    """Attention of one layer in one pass, (B, H, Q, K), or (1, H, Q, K) where it is the same for all sequences."""

    def __init__(self, weights_BHQK: Tensor, shown: Shown) -> None:
        self.weights_BHQK, self.shown = weights_BHQK, shown

    @cached_property
    def entropy_BHQ(self) -> Tensor:
        """Entropy of each query's attention, in nats."""
        entropy: Tensor = torch.special.entr(self.weights_BHQK).sum(-1)
        return entropy

    @cached_property
    def total_1HQK(self) -> Tensor:
        """The sum over sequences."""
        return self.weights_BHQK.sum(0, keepdim=True)

    def on_lag(self, lag: int) -> Tensor:
        """Attention on one lag, summed over queries, (B, H)."""
        return self.weights_BHQK.diagonal(self.shown.offset + 1 - lag, dim1=-2, dim2=-1).sum(-1)

    def by_lag(self, lags: Sequence[int]) -> Tensor:
        """Attention on each of some lags, summed over queries, (B, H, lags)."""
        return torch.stack([self.on_lag(lag) for lag in lags], dim=-1)

    def on_keys(self, keys_BQK: Tensor) -> Tensor:
        """Attention on chosen keys of each query, summed over queries, (B, H)."""
        chosen = keys_BQK.flatten(1).to(self.weights_BHQK.dtype)
        weights = self.weights_BHQK.flatten(2)
        if len(weights) == 1:
            return chosen @ weights[0].T
        return torch.bmm(weights, chosen[..., None])[..., 0]


@dataclass(frozen=True)
class Share:
    """A share of attention, summed over the queries that can have it, by sequence and head; how many these are."""

    sum_BH: Tensor
    count_B: Tensor


@dataclass(frozen=True)
class Role:
    """`measure` gives `None` where it cannot be told, such as a role of tokens for a model that is shown none."""

    name: str
    title: str
    sentence: str
    """What a head of this role does, for a reader."""
    measure: Callable[[Seen], Share | None]
    against: Against
    perfect: Callable[[Shown], Tensor] | None = None
    """Attention of a head, the only one, that does this and nothing else: its chance says what the batch can tell"""


def token_role(name: str, title: str, sentence: str, choose: Callable[[Shown], Tensor]) -> Role:
    """A role that is about tokens: attention on the keys (B, Q, K) that `choose` picks, by queries that have any,
    against the other sequences. None for a model that is shown no tokens.
    """

    def chosen(shown: Shown) -> Tensor:
        return shown.once(("keys", name), lambda: choose(shown))

    def measure(seen: Seen) -> Share | None:
        shown = seen.shown
        if shown.tokens_BS is None:
            return None
        keys_BQK = chosen(shown)
        return Share(seen.on_keys(keys_BQK), shown.once(("count", name), lambda: keys_BQK.any(-1).sum(1)))

    def perfect(shown: Shown) -> Tensor:
        keys_BQK = chosen(shown)
        return (keys_BQK / keys_BQK.sum(-1, keepdim=True).clamp(min=1))[:, None]

    return Role(name, title, sentence, measure, against="others", perfect=perfect)


def measured(role: Role, seen: Seen) -> tuple[Share, Tensor] | None:
    """The role's share and, summed over the same queries, its chance, (B, H) or (B, 1)."""
    share = role.measure(seen)
    if share is None:
        return None
    shown = seen.shown
    if role.against == "others":
        return share, _by_others(role, seen, share)
    weights = shown.even_BHQK if role.against == "even" else shown.own_BHQK
    return share, shown.once(("chance", role.name), lambda: _sums(role, Seen(weights, shown)))


def explained(role: Role, shown: Shown) -> Tensor | None:
    """Chance of a perfect head, summed over queries, (B,): 1 where positions explain all that it does."""
    perfect = role.perfect
    if perfect is None or shown.tokens_BS is None:
        return None

    def compute() -> Tensor:
        found = measured(role, Seen(perfect(shown), shown))
        assert found is not None
        return found[1][:, 0]

    return shown.once(("explained", role.name), compute)


def _by_others(role: Role, seen: Seen, share: Share) -> Tensor:
    """The share of each sequence under the mean attention of the other sequences, summed over queries, (B, H)."""
    shown = seen.shown
    others_Q = (shown.compared_Q - 1).clamp(min=1)
    if bool((others_Q == others_Q[0]).all()):
        return (_sums(role, Seen(seen.total_1HQK, shown)) - share.sum_BH) / others_Q[0]
    own = Seen(seen.weights_BHQK / others_Q[:, None], shown)
    return _sums(role, Seen(own.total_1HQK, shown)) - _sums(role, own)


def _sums(role: Role, seen: Seen) -> Tensor:
    share = role.measure(seen)
    assert share is not None
    return share.sum_BH


def above_chance(share: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """(share - chance) / (1 - chance); 0 where chance leaves no room."""
    room = 1 - chance
    return np.where(room < LEAST_ROOM, 0.0 * share, (share - chance) / np.where(room < LEAST_ROOM, 1.0, room))
