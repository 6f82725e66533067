"""What the probe asks of an adapter: run a model once on a batch and hand over each layer's attention.

An adapter is one file in `headwise.probe.adapters` with an `ADAPTER` object; it handles one way in which models compute
attention and has nothing to do with lags, steps or files. Shape letters: B sequences, S positions, Q queries, K keys,
H heads, E head size, D stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Input of one forward pass: one tensor, or the keyword arguments of a model that needs several."""

    tokens: Tensor
    """(B, S) token ids; (B, S, D) for modules that take embeddings"""
    keyword: str | None = None
    """the argument that takes `tokens`; `None`: it is the first positional one"""
    others: Mapping[str, Any] = field(default_factory=dict)
    """further keyword arguments"""

    @property
    def valid_BS(self) -> Tensor | None:
        """Which tokens are real; `None` where the batch has no padding mask."""
        mask = self.others.get("attention_mask")
        return mask.bool() if isinstance(mask, Tensor) and mask.ndim == 2 else None

    def keywords(self, name: str) -> dict[str, Any]:
        """All arguments by name; `name` is what a bare tensor is called."""
        return {**self.others, self.keyword or name: self.tokens}


@dataclass(frozen=True)
class HeadWrites:
    """What the heads of a layer write: `z` through the output matrix; without one, `z` itself is written."""

    z_BSHE: Tensor
    output_DHE: Tensor | None


@dataclass(frozen=True)
class Layer:
    """One attention layer in one forward pass; the queries are the last Q of the K positions."""

    name: str
    attention_BHQK: Tensor
    valid_BK: Tensor | None = None
    writes: HeadWrites | None = None


class Observer(Protocol):
    """Takes layers in the order in which they compute, and reduces each one at once."""

    wants_output: bool
    """Whether the model's output is asked for too, its language-model head included."""

    def layer(self, layer: Layer) -> None:
        """The next layer of this pass."""
        ...

    def output(self, output: Any) -> None:
        """What the model returned, after its layers; an adapter that does not know it need not call this."""
        ...

    def note(self, text: str) -> None:
        """Something that a reader of the result must know; shown once."""
        ...


@runtime_checkable
class RewritingObserver(Protocol):
    """An observer that also changes what the heads of a layer hand to the output matrix, before it is multiplied."""

    def rewrite(self, outputs: Tensor) -> Tensor:
        """Outputs of the heads of one layer, (B, S, H, E) or (B, S, H·E); what the model is to go on with instead.

        Called once for each layer, before `layer` is called for it. An adapter that does not know where these outputs
        lie need not call it; then head importance cannot be measured.
        """
        ...


Rewrite = Callable[[Tensor], Tensor]


def rewrite_of(observer: Observer) -> Rewrite | None:
    """How this observer changes the outputs of heads; `None` for most, which leave them alone."""
    return observer.rewrite if isinstance(observer, RewritingObserver) else None


class Adapter(Protocol):
    """One way in which models compute attention."""

    name: str

    def claims(self, model: object) -> bool:
        """Whether this adapter handles the model; must not import the library it is for."""
        ...

    def show(self, model: Any, batch: Batch, observer: Observer) -> None:
        """Run the model once and give the observer every layer; leave the model as it was."""
        ...

    def advice(self, model: Any) -> str:
        """For the error when no layer was seen: where this adapter looked, and what else to do."""
        ...
