"""Variations of the full decoder (§2.2 footnote, §2.3, App. F): one change each."""

from __future__ import annotations

from headwise.study.config import Preset, RunConfig
from headwise.study.experiments.full import full


def windows(preset: Preset) -> RunConfig:
    """The full decoder compared with trained models of context 4 and 8 (Fig. kl, right).

    The third curve of the published figure is the exact law, which every run is compared with; the text trains a model
    of context 12 for it.
    """
    base = full(preset)
    contexts = (4, 8) if preset == "published" else (4, 8, 12)
    return base.model_copy(
        update={"experiment": "windows", "measure": base.measure.model_copy(update={"windows": contexts})}
    )


def positions_relative(preset: Preset) -> RunConfig:
    """A learned score per head and lag instead of learned absolute positions; should show the same stages."""
    base = full(preset)
    return base.model_copy(
        update={
            "experiment": "positions-relative",
            "model": base.model.model_copy(update={"positions": "relative"}),
        }
    )


def positions_sinusoidal(preset: Preset) -> RunConfig:
    """Sinusoidal positions instead of learned absolute ones; should show the same stages."""
    base = full(preset)
    return base.model_copy(
        update={
            "experiment": "positions-sinusoidal",
            "model": base.model.model_copy(update={"positions": "sinusoidal"}),
        }
    )


def reverse(preset: Preset) -> RunConfig:
    """The furthest two lags the most important, the nearest eight the least; stages should be easier to see."""
    base = full(preset)
    groups = ((13, 14), (9, 10, 11, 12), (1, 2, 3, 4, 5, 6, 7, 8))
    return base.model_copy(
        update={"experiment": "reverse", "task": base.task.model_copy(update={"w": 14, "groups": groups})}
    )


def sgd(preset: Preset) -> RunConfig:
    """SGD with momentum instead of AdamW; as published with rate 0.2, m = 2 and 6000 steps.

    Weight decay is AdamW's: SGD would add it to the gradient; 0.01 at this rate and momentum takes 2 % of every weight
    in a step, and attention stays uniform for good.
    """
    base = full(preset)
    optimiser: dict[str, object] = {"optimizer": "SGD", "momentum": 0.9, "weight_decay": 0.0}
    if preset == "text":
        return base.model_copy(update={"experiment": "sgd", "train": base.train.model_copy(update=optimiser)})
    return base.model_copy(
        update={
            "experiment": "sgd",
            "task": base.task.model_copy(update={"m": 2.0}),
            "train": base.train.model_copy(update={**optimiser, "lr": 0.2, "steps": 6000}),
        }
    )


def depth_full(preset: Preset) -> RunConfig:
    """Two full blocks on 27000 sequences; the rate of the published run is not public, 0.003 is ours."""
    base = full(preset)
    return base.model_copy(
        update={
            "experiment": "depth-full",
            "model": base.model.model_copy(update={"blocks": 2}),
            "train": base.train.model_copy(update={"samples": 27000}),
        }
    )
