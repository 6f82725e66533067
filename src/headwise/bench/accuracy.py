"""How exact a path is: its gradient against the plain model in float64 with the same dropout masks."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from headwise.bench.cases import SEED, Contender, Sizes, engine, prepared
from headwise.bench.plain_gradients import plain_gradients
from headwise.model.decoder import Decoder
from headwise.model.dropout import DropoutMasks


def gradient_errors(sizes: Sizes, paths: list[Contender]) -> dict[str, float]:
    """Relative error of the whole gradient in float32, of plain float32 itself and of each path.

    `relu_flips` counts hidden units that rounding alone turns on or off: such a unit moves the gradient by more than
    rounding should, on every path alike; nothing else excuses a larger error.
    """
    decoder, inputs, targets = prepared(sizes)
    exact_decoder = copy.deepcopy(decoder).double()
    exact = _joined(plain_gradients(exact_decoder, inputs, targets, seed=SEED, step=0))
    found = {"plain": plain_gradients(decoder, inputs, targets, seed=SEED, step=0)}
    for path in paths:
        engine(path, decoder).loss_and_gradients(inputs, targets, step=0)
        found[path] = [p.grad.clone() for p in decoder.parameters() if p.grad is not None]
    errors = {path: float((_joined(grad) - exact).norm() / exact.norm()) for path, grad in found.items()}
    return errors | {"relu_flips": relu_flips(decoder, exact_decoder, inputs, targets.shape[1])}


@torch.no_grad()
def relu_flips(decoder: Decoder, exact: Decoder, inputs: Tensor, counted: int) -> int:
    """Hidden units of the reference that are on in one precision and off in the other, with the same masks."""
    if not decoder.config.mlp:
        return 0
    on = [_hidden_on(model, inputs, counted) for model in (decoder, exact)]
    return int((on[0] != on[1]).sum())


def _hidden_on(decoder: Decoder, inputs: Tensor, counted: int) -> Tensor:
    seen: list[Tensor] = []

    def note(module: nn.Module, args: tuple[Tensor, ...], out: Tensor) -> None:
        seen.append((out > 0).flatten())

    hooks = [block.mlp_in.register_forward_hook(note) for block in decoder.layers]
    for start in range(0, inputs.shape[0], 50):
        decoder(inputs[start : start + 50], counted, DropoutMasks(seed=SEED, step=0, first=start))
    for hook in hooks:
        hook.remove()
    return torch.cat(seen)


def _joined(gradients: list[Tensor]) -> Tensor:
    return torch.cat([gradient.double().flatten() for gradient in gradients])
