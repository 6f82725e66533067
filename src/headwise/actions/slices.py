"""Which weights belong to one head, and the moments that the optimiser keeps for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from headwise.actions.action import Part

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from headwise.model.decoder import Decoder

ATTENTION = ("score_HDD", "query_HED", "key_HED", "lag_HS", "query_bias_HE", "key_bias_HE")
VALUES = ("value_HED", "value_bias_HE", "output_OHE")
"""Weights of an attention layer that have a part for each head; an output bias, an MLP, embeddings belong to none."""


class HeadSlice(NamedTuple):
    """The part of one parameter that belongs to one head."""

    parameter: nn.Parameter
    name: str
    head: int

    def of(self, tensor: Tensor) -> Tensor:
        """The same part of a tensor of the parameter's shape, as a view."""
        return tensor[:, self.head] if self.name == "output_OHE" else tensor[self.head]

    def weights(self) -> Tensor:
        """The weights themselves, as a view."""
        return self.of(self.parameter.data)


def head_slices(decoder: Decoder, block: int, head: int, part: Part = "all") -> list[HeadSlice]:
    """What belongs to a head, both counted from 0."""
    names = {"attention": ATTENTION, "values": VALUES, "all": (*ATTENTION, *VALUES)}[part]
    attention = dict(decoder.layers[block].attention.named_parameters())
    return [HeadSlice(attention[name], name, head) for name in names if name in attention]


def moments(optimiser: torch.optim.Optimizer, piece: HeadSlice) -> Iterator[tuple[str, Tensor]]:
    """The optimiser's memory of a slice, as views; a memory of another shape (a count of steps) belongs to no head."""
    for key, value in optimiser.state.get(piece.parameter, {}).items():
        if getattr(value, "shape", None) == piece.parameter.shape:
            yield key, piece.of(value)


def stored(optimiser: torch.optim.Optimizer, piece: HeadSlice) -> Iterator[Tensor]:
    """Weights and moments of a slice, as views."""
    yield piece.weights()
    for _, memory in moments(optimiser, piece):
        yield memory
