"""One attention layer, added up over sequences and queries: everything a record holds, in memory O(heads × lags).

Of a batch's sequences, errors of lags keep sums of squares and role scores at most 16 folds.

Lag = predicted position minus key position: a query's own token is lag 1, the previous one lag 2, what lies ahead
lags 0 and below. Means are over the counted queries, so a lag that a query cannot see counts as unattended, as in
headwise's own measurement.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from headwise.core.errors import ConfigError, RunFailed
from headwise.probe.adapter import HeadWrites, Layer
from headwise.probe.lag_error import LagError
from headwise.probe.role import Role, Seen
from headwise.probe.role_sums import RoleSums
from headwise.probe.shown import Shown
from headwise.probe.sliding_window import sliding_window

PLACES = ("self", "previous", "first", "induction")
"""Where a head may look that has a name of its own; `induction` is a score on sequences that repeat themselves."""

LARGE_MAP = 2**18
"""Entries of a layer's attention to one sequence from which its sum over sequences is a good part of a look."""


class BlockSums:
    """Adds layers of the same block, one per chunk of the batch."""

    def __init__(
        self,
        layer: Layer,
        *,
        queries: int | None,
        lags: int = 64,
        roles: Sequence[Role] = (),
        sequences: int | None = None,
    ) -> None:
        """`sequences`: how many the whole batch has; without it, this layer's."""
        self.name = layer.name
        _, self.heads, seen, self.keys = layer.attention_BHQK.shape
        self.queries = seen if queries is None else min(queries, seen)
        self._by_lag = np.zeros((self.heads, 2 * self.keys - 1))
        self._entropy = np.zeros(self.heads)
        self._first = np.zeros(self.heads)
        self._count = self._count_previous = self._count_first = 0
        self._gram: np.ndarray | None = np.zeros((self.heads, self.heads)) if layer.writes else None
        total = layer.attention_BHQK.shape[0] if sequences is None else sequences
        self.roles = RoleSums(roles, sequences=total, heads=self.heads)
        self.lag_error = LagError(heads=self.heads, lags=min(lags, self.keys))

    def add(self, layer: Layer, tokens_BS: Tensor | None = None, shared: Shown | None = None) -> Shown:
        """One layer; rows that are not distributions are an error, padding is left out.

        `tokens_BS`: what was shown, for roles of tokens. `shared`: what an earlier layer of the same pass was measured
        against; returns what this one was, which is the same where both saw the same.
        """
        a_BHQK, valid_BK = _numbers(layer.attention_BHQK), layer.valid_BK
        if a_BHQK.shape[1] != self.heads or a_BHQK.shape[-1] != self.keys:
            raise ConfigError(f"{self.name} changed its shape between two sequences of a batch; give them one length")
        a_BHQK = a_BHQK[:, :, -self.queries :]
        if valid_BK is None:
            valid_BK = torch.ones(a_BHQK.shape[0], self.keys, dtype=torch.bool, device=a_BHQK.device)
        else:
            valid_BK = valid_BK.to(a_BHQK.device)
            a_BHQK = torch.where(valid_BK[:, None, -self.queries :, None], a_BHQK, 0.0)
        valid_BQ = valid_BK[:, -self.queries :]
        require_distributions(a_BHQK, valid_BQ, name=self.name, resolution=resolution(layer.attention_BHQK))
        # Summing over sequences before anything else keeps the rest independent of the batch.
        map_HQK = _over_sequences(a_BHQK)
        by_lag = _by_lag(map_HQK)
        self._by_lag += by_lag
        window = sliding_window(map_HQK, by_lag, valid_BK)
        shown = self._shown(map_HQK, tokens_BS, valid_BK, window=window, shared=shared)
        seen = Seen(a_BHQK, shown)
        seen.total_1HQK = map_HQK[None].to(a_BHQK.dtype)
        self.roles.add(seen)
        self.lag_error.add(seen)
        self._entropy += _array(summed(seen.entropy_BHQ, (0, 2)))
        self._add_first(a_BHQK, valid_BK, valid_BQ)
        self._count += int(valid_BQ.sum())
        previous_BQ = torch.nn.functional.pad(valid_BK, (1, 0))[:, :-1][:, -self.queries :]
        self._count_previous += int((valid_BQ & previous_BQ).sum())
        if self._gram is not None:
            self._gram = None if layer.writes is None else self._gram + _gram(layer.writes, valid_BQ)
        return shown

    def _shown(
        self,
        map_HQK: Tensor,
        tokens_BS: Tensor | None,
        valid_BK: Tensor,
        *,
        window: tuple[int, int] | None,
        shared: Shown | None,
    ) -> Shown:
        """What this layer is measured against: what another layer was, if both saw the same."""
        ahead = bool((map_HQK.triu(1 + self.keys - self.queries) > 0).any())
        if tokens_BS is not None and tokens_BS.shape != valid_BK.shape:
            tokens_BS = None
        if (
            shared is not None
            and (shared.ahead, shared.queries, shared.window) == (ahead, self.queries, window)
            and shared.valid_BK.shape == valid_BK.shape
            and shared.valid_BK.device == valid_BK.device
            and bool((shared.valid_BK == valid_BK).all())
        ):
            return shared
        tokens = None if tokens_BS is None else tokens_BS.to(valid_BK.device)
        return Shown(tokens, valid_BK, queries=self.queries, ahead=ahead, window=window)

    def _add_first(self, a_BHQK: Tensor, valid_BK: Tensor, valid_BQ: Tensor) -> None:
        """Attention on each sequence's first real token, by the queries after it."""
        first_B = valid_BK.int().argmax(1)
        at_first_BHQ = a_BHQK.gather(-1, first_B[:, None, None, None].expand(*a_BHQK.shape[:3], 1))[..., 0]
        position_Q = torch.arange(self.keys - self.queries, self.keys, device=a_BHQK.device)
        later_BQ = valid_BQ & (position_Q > first_B[:, None])
        self._first += _array(summed(torch.where(later_BQ[:, None], at_first_BHQ, 0.0), (0, 2)))
        self._count_first += int(later_BQ.sum())

    @property
    def lags(self) -> np.ndarray:
        """Every lag a square attention map has, ascending: `2 - keys` to `keys`."""
        return np.arange(2 - self.keys, self.keys + 1)

    def by_lag(self) -> np.ndarray:
        """Mean share of each lag, (heads, lags)."""
        if not self._count:
            raise ConfigError("every counted token is padding; give sequences with real tokens")
        return self._by_lag / self._count

    def entropy(self) -> np.ndarray:
        """Mean entropy of a row, in nats."""
        return self._entropy / self._count

    def places(self) -> np.ndarray:
        """Mean attention on self, previous and first token by the queries that have one, (heads, 3); NaN where none."""
        own = self.keys - 1
        sums = np.stack([self._by_lag[:, own], self._by_lag[:, min(own + 1, 2 * self.keys - 2)], self._first], axis=-1)
        counts = np.array([self._count, self._count_previous, self._count_first], dtype=float)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)

    def write_alignment(self) -> np.ndarray | None:
        """Cosine between what two heads write, over all counted tokens, (heads, heads); 0 where one writes nothing.

        1: both write the same; below 0: one takes back what the other adds.
        """
        if self._gram is None:
            return None
        size = np.sqrt(np.diagonal(self._gram))
        product = np.outer(size, size)
        return np.where(product > 0, self._gram / np.where(product > 0, product, 1.0), 0.0)


def require_distributions(a_BHQK: Tensor, valid_BQ: Tensor, *, name: str, resolution: float) -> None:
    """Every real query's attention adds up to one. Rows that are not finite are a diverged model's and stay NaN."""
    off_BHQ = (a_BHQK.sum(-1) - 1).abs().masked_fill(~valid_BQ[:, None], 0.0)
    worst = float(off_BHQ.nan_to_num(0.0, posinf=0.0).max()) if off_BHQ.numel() else 0.0
    if worst > max(1e-4, 2 * resolution):
        raise RunFailed(
            f"{name}: a row of attention adds up to one only within {worst:.2g}; scores before the softmax, dropout, "
            "or weights on something that is no position (an attention sink) look like this"
        )
    if _below_zero(a_BHQK):
        raise RunFailed(f"{name}: attention has negative entries; these are not weights after a softmax")


def _below_zero(tensor: Tensor) -> bool:
    """Whether any entry is negative, in one pass; where entries are not finite their minimum says nothing."""
    if not tensor.numel():
        return False
    lowest = float(tensor.min())
    return bool((tensor < 0).any()) if lowest != lowest else lowest < 0


def resolution(tensor: Tensor) -> float:
    """Relative step between neighbouring numbers of the tensor's type."""
    return float(torch.finfo(tensor.dtype).eps)


def _numbers(attention: Tensor) -> Tensor:
    if attention.ndim != 4 or not attention.is_floating_point() or 0 in attention.shape:
        raise ConfigError(
            f"attention of shape {tuple(attention.shape)} and type {attention.dtype}; "
            "a layer needs real numbers of shape (sequences, heads, queries, keys), none of them zero"
        )
    if attention.shape[-2] > attention.shape[-1]:
        raise ConfigError(f"{attention.shape[-2]} queries on {attention.shape[-1]} keys: not one sequence's attention")
    return attention.detach() if attention.dtype in (torch.float32, torch.float64) else attention.detach().float()


def summed(tensor: Tensor, dim: int | tuple[int, ...]) -> Tensor:
    """Sum in double precision where the device has it."""
    return tensor.sum(dim) if tensor.device.type == "mps" else tensor.sum(dim, dtype=torch.float64)


def _over_sequences(a_BHQK: Tensor) -> Tensor:
    """Sum over sequences; of large maps eight at a time in their own precision, which is six times as fast."""
    if a_BHQK[0].numel() < LARGE_MAP:
        return summed(a_BHQK, 0)
    parts = [a_BHQK[first : first + 8].sum(0) for first in range(0, len(a_BHQK), 8)]
    return summed(torch.stack(parts), 0)


def _array(tensor: Tensor) -> np.ndarray:
    return np.asarray(tensor.cpu().numpy(), dtype=np.float64)


def _by_lag(map_HQK: Tensor) -> np.ndarray:
    """Sums along the diagonals of a map whose queries are the last positions, (heads, 2 keys - 1), lags ascending."""
    heads, queries, keys = map_HQK.shape
    device = map_HQK.device
    position_Q = torch.arange(keys - queries, keys, device=device)
    index_QK = position_Q[:, None] - torch.arange(keys, device=device) + keys - 1
    sums = torch.zeros(heads, 2 * keys - 1, dtype=map_HQK.dtype, device=device)
    return _array(sums.index_add_(1, index_QK.flatten(), map_HQK.flatten(1)))


def lag_chance(shown: Shown) -> tuple[np.ndarray, int]:
    """Attention by lag of even attention, summed over queries, for every lag of a square map; how many queries."""
    return shown.once("lag chance", lambda: (_by_lag(summed(shown.even_BHQK, 0))[0], int(shown.counted_BQ.sum())))


def _gram(writes: HeadWrites, valid_BQ: Tensor) -> np.ndarray:
    """Inner products of what the heads write, summed over tokens, (heads, heads).

    With an output matrix the tokens' second moments are taken before it, so that what every head writes at every
    token is never held.
    """
    z_NHE = _half_to_float(writes.z_BSHE[:, -valid_BQ.shape[1] :])[valid_BQ.to(writes.z_BSHE.device)]
    if writes.output_DHE is None:
        return _array(torch.einsum("nhe,nge->hg", z_NHE, z_NHE))
    heads, size = z_NHE.shape[1:]
    output = _half_to_float(writes.output_DHE).flatten(1)
    moments = (z_NHE.flatten(1).T @ z_NHE.flatten(1)) * (output.T @ output)
    return _array(moments.reshape(heads, size, heads, size).sum((1, 3)))


def _half_to_float(tensor: Tensor) -> Tensor:
    return tensor.detach() if tensor.dtype in (torch.float32, torch.float64) else tensor.detach().float()
