"""A module of somebody's own as an engine: it takes tokens (B, S) and gives logits (B, S, d) at every position.

Attention and the roles of heads are taken as in `headwise.probe`, on the same test sequences and queries as the
attention of headwise's own decoder: a run says of its heads what a watched model's does. Random numbers that the module
draws in a training step are a function of the run's seed and the step, so a run resumes bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from headwise.core.errors import ConfigError
from headwise.core.look import cause
from headwise.core.seeds import Stream, integer_seed
from headwise.model.compute import ComputeConfig
from headwise.model.engine import AttentionSummary, SummedAttention, Visit, chunks
from headwise.probe.adapter import Adapter, Batch, Layer
from headwise.probe.adapters import find_adapter
from headwise.probe.adapters.named_modules import NamedModules
from headwise.probe.block_sums import PLACES
from headwise.probe.probing import Probe
from headwise.probe.restored_state import evaluating, state_restored
from headwise.probe.roles import all_roles
from headwise.study.run_decoder import usable_device

AHEAD = 1e-6
"""Attention on later tokens beyond which a module looks ahead; rounding leaves none."""

FROM_THE_PROBE = (
    "attention_concentration",
    "attention_on",
    "lag_chance",
    "lag_chance_by_block",
    "lag_error",
    "role_score",
    "role_chance",
    "role_fold",
    "write_alignment",
)
"""Variables of a look that the evaluation of a training does not measure itself."""

Build = Callable[[], nn.Module]


def build_module(build: Build, compute: ComputeConfig, *, seed: int) -> nn.Module:
    """The module with its initial weights, which are drawn from the run's seed, on its device."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            module = build()
        except Exception as error:  # what other people's code raises is open-ended
            raise ConfigError(f"model: building it failed: {cause(error)}") from error
    if not isinstance(module, nn.Module):
        raise ConfigError(f"model: the function gave a {type(module).__name__}; return a torch.nn.Module")
    if not any(parameter.requires_grad for parameter in module.parameters()):
        raise ConfigError(f"model: {type(module).__name__} has no parameters to train")
    module = module.to(device=usable_device(compute.device))
    return module if compute.dtype == "float32" else module.to(dtype=getattr(torch, compute.dtype))


class OwnEngine:
    """Trains on a whole batch at once, measures a chunk of sequences at a time."""

    name = "reference"

    def __init__(
        self, module: nn.Module, *, vocabulary: int, dropout_seed: int, chunk: int, attention: str | None = None
    ) -> None:
        self.decoder, self.vocabulary, self.dropout_seed, self.chunk = module, vocabulary, dropout_seed, chunk
        self.adapter: Adapter = find_adapter(module) if attention is None else NamedModules(attention)
        self._probe: Probe | None = None

    def loss_and_gradients(self, inputs: Tensor, targets: Tensor, *, step: int, dropout: bool = True) -> float:
        """A step without dropout is computed in the module's evaluation mode."""
        self.decoder.zero_grad()
        with torch.random.fork_rng(devices=[]), nullcontext() if dropout else evaluating(self.decoder):
            torch.manual_seed(integer_seed(self.dropout_seed, Stream.DROPOUT, step))
            logits = self._logits(self.decoder(inputs), inputs)[:, -targets.shape[1] :]
            loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
            torch.autograd.backward(loss)
        for parameter in self.decoder.parameters():
            if parameter.requires_grad and parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)  # a part that this batch did not reach
        return loss.item()

    def evaluate(self, inputs: Tensor, *, counted: int, visit: Visit) -> AttentionSummary:
        summed = SummedAttention()
        with state_restored(self.decoder):
            for part in chunks(inputs.shape[0], self.chunk):
                caught = _Caught(inputs[part])
                self.adapter.show(self.decoder, Batch(inputs[part]), caught)
                if not caught.attention:
                    raise ConfigError(f"model: no attention was seen: {self.adapter.advice(self.decoder)}")
                given = self.decoder(inputs[part]) if caught.given is None else caught.given
                visit(part, self._logits(given, inputs[part])[:, -counted:])
                summed.add(caught.attention, counted)
        return summed.mean()

    def head_variables(self, inputs: Tensor, *, counted: int) -> dict[str, np.ndarray]:
        """Roles, and whatever else a look at a watched model measures, on the same sequences and queries."""
        if self._probe is None:
            self._probe = Probe(inputs, queries=counted, lags=inputs.shape[1], examples=0, adapter=self.adapter)
        record = self._probe.look(self.decoder)
        return {name: record[name] for name in FROM_THE_PROBE if name in record}

    def head_coordinates(self) -> dict[str, list[str]]:
        """The names of roles and places."""
        return {"role": [role.name for role in all_roles(None)], "place": list(PLACES)}

    def _logits(self, output: Any, inputs: Tensor) -> Tensor:
        found = output.get("logits") if isinstance(output, Mapping) else getattr(output, "logits", output)
        found = found[0] if isinstance(found, tuple | list) and found else found
        wanted = (*inputs.shape, self.vocabulary)
        if not isinstance(found, Tensor) or tuple(found.shape) != wanted:
            got = f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else f"a {type(found).__name__}"
            raise ConfigError(
                f"model: {type(self.decoder).__name__} gave {got} for tokens of shape {tuple(inputs.shape)}; "
                f"return logits of shape {wanted}"
            )
        return found


class _Caught:
    """The attention of one pass, and what the model returned."""

    wants_output = True

    def __init__(self, tokens: Tensor) -> None:
        self.tokens = tokens
        self.attention: list[Tensor] = []
        self.given: Any = None

    def layer(self, layer: Layer) -> None:
        """The next layer; all must have as many heads as the first, over the positions shown."""
        seen, positions = layer.attention_BHQK, self.tokens.shape[1]
        heads = self.attention[0].shape[1] if self.attention else seen.shape[1]
        if tuple(seen.shape) != (len(self.tokens), heads, positions, positions):
            raise ConfigError(
                f"model: the attention of {layer.name} has the shape {tuple(seen.shape)}; in a training every layer "
                f"has the same heads over all positions, {(len(self.tokens), heads, positions, positions)}"
            )
        if float(seen.triu(1).amax()) > AHEAD:
            raise ConfigError(f"model: {layer.name} looks at later tokens than the one it predicts from; mask them")
        self.attention.append(seen)

    def output(self, output: Any) -> None:
        """What the model returned."""
        self.given = output

    def note(self, text: str) -> None:
        """Ignored: what is missing shows in the record."""
