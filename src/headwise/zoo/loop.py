"""Runs one training and keeps its weights at every look. A run is a function of kind, setting and seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from headwise.zoo.looks import look_steps
from headwise.zoo.stored import Stored
from headwise.zoo.training import IGNORED, Kind, Setting, Training, seeded

VALIDATION = 256
"""sequences on which the validation loss is computed, the same at every look"""
SHOWN = 48
"""of these, how many are shown to the watch and to the truth"""


def run(kind: Kind, setting: Setting, seed: int, *, steps: int | None = None) -> Stored:
    """Train; `steps` instead of the training's own number is for tests."""
    training = kind.make(setting, seed)
    total = training.steps if steps is None else steps
    data, held = seeded(seed, 2), training.draw(seeded(seed, 3), VALIDATION)
    pool = training.draw(data, training.pool)
    advance = _mover(training, pool, data, seed)
    at, kept, validation, losses = look_steps(total), [], [], []
    for step in range(total + 1):
        if step in at:
            kept.append({name: p.detach().numpy().copy() for name, p in training.model.named_parameters()})
            validation.append(_validation(training.model, held))
        if step < total:
            losses.append(advance(step))
    return Stored(
        kind=kind.name,
        setting=dict(setting),
        seed=seed,
        looks=np.array(at),
        weights={name: np.stack([weights[name] for weights in kept]) for name in kept[0]},
        train_loss=np.array(losses),
        validation_loss=np.array(validation),
        tokens=held[0][:SHOWN].numpy(),
    )


def loss_of(model: nn.Module, inputs_BS: Tensor, targets_BS: Tensor) -> Tensor:
    """Mean cross-entropy over the targets that are asked."""
    return functional.cross_entropy(model(inputs_BS).flatten(0, 1), targets_BS.flatten(), ignore_index=IGNORED)


def _validation(model: nn.Module, held: tuple[Tensor, Tensor]) -> float:
    model.eval()
    with torch.no_grad():
        value = float(loss_of(model, *held))
    model.train()
    return value


def _mover(training: Training, pool: tuple[Tensor, Tensor], data: torch.Generator, seed: int) -> Callable[[int], float]:
    """One step of the weights; returns the training loss before it."""
    weights = list(training.model.parameters())
    noise = seeded(seed, 4)
    optimiser: torch.optim.Optimizer
    if training.moves == "sgd":
        optimiser = torch.optim.SGD(weights, lr=training.rate, momentum=0.9)
    else:
        optimiser = torch.optim.Adam(weights, lr=training.rate, fused=True)
    direction = [torch.randn(weight.shape, generator=noise) for weight in weights]

    def batch() -> tuple[Tensor, Tensor]:
        chosen = torch.randint(len(pool[0]), (training.batch,), generator=data)
        return pool[0][chosen], pool[1][chosen]

    def learn(step: int) -> float:
        for group in optimiser.param_groups:
            group["lr"] = training.rate * min(1.0, ((step + 1) / max(1, training.warmup)) ** 3)
        loss = loss_of(training.model, *batch())
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        return float(loss.detach())

    def wander(step: int) -> float:
        with torch.no_grad():
            loss = float(loss_of(training.model, *batch()))
            for weight, fixed in zip(weights, direction, strict=True):
                towards = fixed if training.moves == "drift" else torch.randn(weight.shape, generator=noise)
                weight.add_(towards, alpha=training.rate)
        return loss

    return wander if training.moves in ("drift", "walk") else learn
