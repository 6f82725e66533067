"""Head importance of any watched model: the rise of the loss on the batch of the looks without each head.

Every ablation is a pass of its own over the same sequences, by the same computation as the look, with what one head (or
two) hands to the output matrix replaced; nothing is approximated and nothing stays on the model. A first pass without
any change gives the loss to compare with and each head's mean, and finds out whether the adapter knows where the
outputs of heads lie. Shape letters: B sequences, S positions, H heads, E head size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headwise.measure.ablations import (
    Ablation,
    Cadence,
    ImportanceOf,
    ablations,
    check_importance,
    cost_text,
    importance_variables,
    not_measured,
    when_text,
)
from headwise.probe.adapter import Adapter, Batch, Layer
from headwise.probe.block_sums import summed
from headwise.probe.observers import LossAlone
from headwise.probe.sequences import passes


class HeadImportance:
    """Measures the model given to each look, or says once why it cannot."""

    def __init__(self, cadence: Cadence, *, of: ImportanceOf, queries: int | None) -> None:
        check_importance(cadence, of)
        self.cadence, self.of, self.queries = cadence, of, queries
        self.problem: str | None = None
        self._tried = False

    def due(self, look: int) -> bool:
        """Whether the look of this number, counted from 0, is one at which to measure, whatever comes after it."""
        return self.cadence != "last" and look % self.cadence == 0

    def first_cost(self, *, heads: Sequence[int], what: str = "look") -> str | None:
        """What it will cost, before it is measured for the first time; `None` afterwards."""
        if self._tried:
            return None
        cost, when = cost_text(heads, self.of), when_text(self.cadence, what)
        return f"head importance takes {cost} of the batch {when}"

    def record(
        self, adapter: Adapter, model: Any, batch: Batch, *, heads: Sequence[int], ahead: bool, now: bool
    ) -> dict[str, np.ndarray]:
        """Variables of one record: measured now or NaN; none at all where it cannot be measured."""
        if self.problem is not None:
            return {}
        if not now and self._tried:
            return not_measured(heads, self.of)
        self._tried = True
        whole = HeadMeans(model, queries=self.queries, ahead=ahead, heads=heads)
        show(adapter, model, batch, whole)
        self.problem = whole.problem(adapter)
        if self.problem is not None:
            return {}
        losses = whole.loss.by_sequence()
        assert losses is not None
        if not now:
            return not_measured(heads, self.of)
        means = whole.means()
        without: dict[Ablation, np.ndarray] = {}
        for ablation in ablations(heads, self.of):
            changed = WithoutHeads(model, ablation, means, queries=self.queries, ahead=ahead, heads=heads)
            show(adapter, model, batch, changed)
            found = changed.loss.by_sequence()
            assert found is not None
            without[ablation] = found.sums
        return importance_variables(losses, without, heads=heads, of=self.of)


def show(adapter: Adapter, model: Any, batch: Batch, observer: _Rewriting) -> None:
    """All passes over a batch."""
    for part in passes(batch):
        observer.begin(part)
        adapter.show(model, part, observer)


class _Rewriting(LossAlone):
    """Takes the loss of each pass, and the heads' outputs of every layer in turn."""

    def __init__(self, model: Any, *, queries: int | None, ahead: bool, heads: Sequence[int]) -> None:
        super().__init__(model, queries=queries, ahead=ahead)
        self.heads, self.queries = heads, queries
        self._layer = 0

    def begin(self, part: Batch) -> None:
        super().begin(part)
        self._layer = 0

    def rewrite(self, outputs: Tensor) -> Tensor:
        """What the heads of the next layer hand to the output matrix, (B, S, H, E) or (B, S, H·E)."""
        layer, self._layer = self._layer, self._layer + 1
        return self.changed(layer, outputs)

    def changed(self, layer: int, outputs: Tensor) -> Tensor:
        """What they are to hand over instead; the tensor itself where nothing changes."""
        raise NotImplementedError


class HeadMeans(_Rewriting):
    """The model as it is: its loss, the mean output of each head over the counted tokens, and what is missing."""

    def __init__(self, model: Any, *, queries: int | None, ahead: bool, heads: Sequence[int]) -> None:
        super().__init__(model, queries=queries, ahead=ahead, heads=heads)
        self._sums: list[Tensor] = []
        self._count = 0.0
        self._since = 0
        self._unknown: str | None = None
        self._layers = 0

    def begin(self, part: Batch) -> None:
        super().begin(part)
        self._since = self._layers = 0
        self._count += float(self._counted(part).sum())

    def changed(self, layer: int, outputs: Tensor) -> Tensor:
        assert self._part is not None
        self._since += 1
        counted_BS = self._counted(self._part).to(outputs.device)
        heads = self.heads[layer] if layer < len(self.heads) else 0
        if outputs.shape[:2] != counted_BS.shape or not heads or outputs[0, 0].numel() % heads:
            self._unknown = self._unknown or "the outputs of its heads do not lie side by side for each token"
            return outputs
        z_BSHE = outputs.reshape(*outputs.shape[:2], heads, -1)
        added = summed(torch.where(counted_BS[..., None, None], z_BSHE, 0.0), (0, 1)).double().cpu()
        if layer == len(self._sums):
            self._sums.append(torch.zeros_like(added))
        self._sums[layer] += added
        return outputs

    def layer(self, layer: Layer) -> None:
        self._layers += 1
        if self._since != 1:
            where = "nowhere" if not self._since else "in more than one place"
            self._unknown = self._unknown or f"the outputs of the heads of {layer.name} are found {where}"
        self._since = 0

    def _counted(self, part: Batch) -> Tensor:
        """Real tokens among the last `queries` ones, (B, S)."""
        valid_BS = part.valid_BS
        shape = part.tokens.shape[:2]
        counted_BS = torch.ones(shape, dtype=torch.bool) if valid_BS is None else valid_BS.cpu().clone()
        if self.queries is not None:
            counted_BS[:, : -self.queries] = False
        return counted_BS

    def means(self) -> list[Tensor]:
        """One (H, E) for each layer."""
        return [sums / max(self._count, 1.0) for sums in self._sums]

    def problem(self, adapter: Adapter) -> str | None:
        """Why importance cannot be measured; `None` where it can."""
        if self._unknown is not None and not self._sums:
            return f"the adapter {adapter.name} does not know where the output of each head lies"
        if self._unknown is not None:
            return self._unknown
        if (self._layers, len(self._sums)) != (len(self.heads), len(self.heads)):
            return "its layers are not those that the look saw"
        return "the look has no loss to compare with" if self.loss.by_sequence() is None else None


class WithoutHeads(_Rewriting):
    """The loss with some heads of a layer replaced by their mean or by zero."""

    def __init__(
        self,
        model: Any,
        ablation: Ablation,
        means: list[Tensor],
        *,
        queries: int | None,
        ahead: bool,
        heads: Sequence[int],
    ) -> None:
        super().__init__(model, queries=queries, ahead=ahead, heads=heads)
        self._ablation, self._means = ablation, means

    def changed(self, layer: int, outputs: Tensor) -> Tensor:
        if layer != self._ablation.block:
            return outputs
        z_BSHE = outputs.reshape(*outputs.shape[:2], self.heads[layer], -1).clone()
        for head in self._ablation.heads:
            z_BSHE[:, :, head] = self._means[layer][head].to(z_BSHE) if self._ablation.by == "mean" else 0.0
        return z_BSHE.reshape(outputs.shape)
