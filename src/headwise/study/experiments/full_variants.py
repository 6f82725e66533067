"""Variations of the full decoder (§2.2 footnote, §2.3, App. F): one change each."""

from __future__ import annotations

from headwise.study.config import Preset, RunConfig
from headwise.study.experiments.full import full


def windows(preset: Preset) -> RunConfig:
    """The full decoder compared with trained models of context 4 and 8 (Fig. kl, right).

    The third curve of the published figure is the exact law, which every run is compared with; the text trains a model
    of context 12 for it.
    """
    contexts = (4, 8, 12) if preset == "text" else (4, 8)
    return full(preset).changed({"experiment": "windows", "measure.windows": contexts})


def positions_relative(preset: Preset) -> RunConfig:
    """A learned score per head and lag instead of learned absolute positions; should show the same stages."""
    return full(preset).changed({"experiment": "positions-relative", "model.positions": "relative"})


def positions_sinusoidal(preset: Preset) -> RunConfig:
    """Sinusoidal positions instead of learned absolute ones; should show the same stages."""
    return full(preset).changed({"experiment": "positions-sinusoidal", "model.positions": "sinusoidal"})


def reverse(preset: Preset) -> RunConfig:
    """The furthest lags the most important, the nearest the least; stages should be easier to see.

    Two, four and eight lags. As published neighbouring norms differ by 2.5: with the 1.7 of the other runs no predictor
    from these lags has the loss of the figure's plateaus (docs/readings.md).
    """
    groups = ((13, 14), (9, 10, 11, 12), (1, 2, 3, 4, 5, 6, 7, 8))
    reversed_order = full(preset).changed({"experiment": "reverse", "task.w": 14, "task.groups": groups})
    return reversed_order if preset == "text" else reversed_order.changed({"task.m": 2.5})


def sgd(preset: Preset) -> RunConfig:
    """SGD with momentum instead of AdamW; as published with rate 0.2, m = 2 and 6000 steps.

    Weight decay is AdamW's: SGD would add it to the gradient; 0.01 at this rate and momentum takes 2 % of every weight
    in a step, and attention stays uniform for good.
    """
    with_sgd = full(preset).changed(
        {"experiment": "sgd", "train.optimizer": "SGD", "train.momentum": 0.9, "train.weight_decay": 0.0}
    )
    if preset == "text":
        return with_sgd
    return with_sgd.changed({"task.m": 2.0, "train.lr": 0.2, "train.steps": 6000})


def depth_full(preset: Preset) -> RunConfig:
    """Two full blocks on 27000 sequences; the rate of the published run is not public, 0.003 is ours."""
    return full(preset).changed({"experiment": "depth-full", "model.blocks": 2, "train.samples": 27000})
