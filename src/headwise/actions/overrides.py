"""Replacing a head's attention or what it writes, on whichever path computes the model.

Where tokens and positions have coordinates of their own, an override is the same model with other weights: a pattern is
a score matrix between positions, a mask lowers some of its entries, a silent head has no values, and a constant is
written by values that look at the position alone. These weights are put in for one pass and taken out again, which
every path computes exactly. Elsewhere (a layer that reads a learned stream) the reference decoder itself is steered,
and the run is computed there; each action says where that is so (`only_on_reference`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from headwise.actions.patterns import visible
from headwise.actions.slices import HeadSlice, head_slices
from headwise.model.decoder import Decoder

NOTHING = 1e4
"""Below the largest score by this much, attention is zero in every precision."""


@dataclass(frozen=True, eq=False)
class Override:
    """What is replaced in one head, both counted from 0."""

    block: int
    head: int
    pattern_SS: Tensor | None = None
    """Attention of each query, instead of its own."""
    masked_SS: Tensor | None = None
    """Pairs of query and key that it does not see."""
    silent: bool = False
    """It writes nothing, but for `written_O`."""
    written_O: Tensor | None = None


def combined(decoder: Decoder, overrides: Sequence[Override]) -> list[Override]:
    """One override for each head: of two patterns or two ablations the later counts, and masks add up.

    A mask holds for a pattern too. A query that would see nothing else keeps what it sees; one that is left with
    nothing of its pattern is even over what it may see.
    """
    found: dict[tuple[int, int], Override] = {}
    for later in overrides:
        place = (later.block, later.head)
        before = found.get(place, Override(*place))
        masks = [mask for mask in (before.masked_SS, later.masked_SS) if mask is not None]
        found[place] = Override(
            *place,
            pattern_SS=before.pattern_SS if later.pattern_SS is None else later.pattern_SS,
            masked_SS=torch.stack(masks).any(0) if masks else None,
            silent=before.silent or later.silent,
            written_O=later.written_O if later.silent else before.written_O,
        )
    return [one if one.masked_SS is None else _masked(one, visible(decoder)) for one in found.values()]


def _masked(override: Override, seen_SS: Tensor) -> Override:
    """What is masked where something is left to see, and the pattern without it."""
    assert override.masked_SS is not None
    hidden_SS = override.masked_SS & seen_SS
    hidden_SS = hidden_SS & (seen_SS & ~hidden_SS).any(-1, keepdim=True)
    if override.pattern_SS is None:
        return replace(override, masked_SS=hidden_SS)
    kept_SS = override.pattern_SS * ~hidden_SS
    even_SS = (seen_SS & ~hidden_SS).to(kept_SS)
    kept_SS = kept_SS.where(kept_SS.sum(-1, keepdim=True) > 0, even_SS)
    return replace(override, masked_SS=hidden_SS, pattern_SS=kept_SS / kept_SS.sum(-1, keepdim=True))


@contextmanager
def applied(decoder: Decoder, overrides: Sequence[Override], *, steered: bool) -> Iterator[None]:
    """The model with these overrides, at most one for each head; afterwards it is as before."""
    replaced: list[tuple[HeadSlice, Tensor]] = []

    def put(piece: HeadSlice, value: Tensor) -> None:
        replaced.append((piece, piece.weights().clone()))
        piece.weights().copy_(value)

    try:
        for override in overrides:
            if override.silent:
                for piece in head_slices(decoder, override.block, override.head, "values"):
                    put(piece, torch.zeros_like(piece.weights()))
            if steered:
                continue
            for piece in head_slices(decoder, override.block, override.head, "all"):
                value = _weights(decoder, piece, override)
                if value is not None:
                    put(piece, value)
        if steered:
            for index, layer in enumerate(decoder.layers):
                mine = [override for override in overrides if override.block == index]
                layer.attention.steering = Steering(mine) if mine else None
        yield
    finally:
        for layer in decoder.layers:
            layer.attention.steering = None
        for piece, before in reversed(replaced):
            piece.weights().copy_(before)


class Steering:
    """Overrides of one attention layer, for the reference decoder."""

    def __init__(self, overrides: Sequence[Override]) -> None:
        self.overrides = overrides

    def scores(self, s_BHQS: Tensor) -> Tensor:
        """The scores of all heads, those of overridden heads replaced."""
        heads, queries = list(s_BHQS.unbind(1)), s_BHQS.shape[2]
        for override in self.overrides:
            own = heads[override.head]
            if override.pattern_SS is not None:
                own = override.pattern_SS[-queries:].log().to(own).expand_as(own)
            elif override.masked_SS is not None:
                own = own.masked_fill(override.masked_SS[-queries:], -torch.inf)
            heads[override.head] = own
        return torch.stack(heads, dim=1)

    def written(self, y_BQO: Tensor) -> Tensor:
        """What all heads write together, with the constants of silent heads."""
        for override in self.overrides:
            if override.written_O is not None:
                y_BQO = y_BQO + override.written_O.to(y_BQO)
        return y_BQO


def _weights(decoder: Decoder, piece: HeadSlice, override: Override) -> Tensor | None:
    """The weights that have the effect of an override, for one parameter of its head; `None` where it stays."""
    scale = decoder.layers[override.block].attention.inverse_scale
    start, now = decoder.token_size, piece.weights()
    if override.written_O is not None and piece.name == "value_HED":
        value = torch.zeros_like(now)
        value[:, start:] = override.written_O.to(now)[:, None]
        return value
    if override.pattern_SS is not None and piece.name in ("score_HDD", "query_HED", "key_HED", "lag_HS"):
        if piece.name == "lag_HS":
            by_lag = _by_lag(decoder, override.pattern_SS).log().clamp(min=-NOTHING)
            # Queries too early for the pattern are even over the other lags, so masked ones lie lower still.
            if override.masked_SS is not None:
                by_lag = by_lag - NOTHING * _lags(decoder, override.masked_SS)
            return by_lag.to(now)
        value = torch.zeros_like(now)
        if decoder.config.positions == "relative":
            return value
        if piece.name == "key_HED":
            return torch.eye(len(now)).to(now)
        value[start:, start:] = (override.pattern_SS.log().clamp(min=-NOTHING) / scale).T.to(now)
        return value
    if override.pattern_SS is not None and piece.name in ("query_bias_HE", "key_bias_HE"):
        return torch.zeros_like(now)
    if override.masked_SS is not None and piece.name == "lag_HS":
        return now - NOTHING * _lags(decoder, override.masked_SS).to(now)
    if override.masked_SS is not None and piece.name == "score_HDD" and decoder.config.positions == "one_hot":
        value = now.clone()
        value[start:, start:] -= (NOTHING / scale) * override.masked_SS.T.to(now)
        return value
    return None


def _by_lag(decoder: Decoder, pattern_SS: Tensor) -> Tensor:
    """The weights of the last query, which sees every lag, by lag."""
    return pattern_SS[-1].flip(0)


def _lags(decoder: Decoder, masked_SS: Tensor) -> Tensor:
    """Which lags are masked for the last query."""
    return masked_SS[-1].flip(0)
