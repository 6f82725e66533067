"""The losses of a record: which there are, on what data, and how they become trajectory variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headwise.core.errors import ConfigError
from headwise.probe.adapter import Batch
from headwise.probe.look_loss import LossValue
from headwise.probe.probing import Probe
from headwise.probe.restored_state import state_restored
from headwise.probe.sequences import as_batch

SPLITS = ("train", "look", "validation")
"""All steps since the last look; the batch of the looks; other data. The steadier a loss, the later it comes."""

Validation = Batch | Callable[[Any], Any]


def as_validation(given: Any) -> Validation | None:
    """A private copy of a batch, or the function as it is."""
    return given if given is None or callable(given) else as_batch(given, name="validation")


def validation_loss(probe: Probe, model: Any, validation: Validation | None) -> LossValue:
    """The loss on validation data; a function is called with the model in evaluation mode, without gradients."""
    if validation is None:
        return LossValue()
    if isinstance(validation, Batch):
        found = probe.batch_loss(model, validation)
        if found is None:
            raise ConfigError(
                "validation: the loss of this batch cannot be had: it needs token ids and a model that returns logits; "
                "give a function of the model instead"
            )
        return found
    with state_restored(model):
        given = validation(model)
    try:
        return LossValue(float(given), np.nan, 1.0)
    except (TypeError, ValueError, RuntimeError):
        raise ConfigError(
            f"validation: the function gave {type(given).__name__}, not a number; return the loss"
        ) from None


def loss_variables(splits: Sequence[Sequence[LossValue]], steps: Sequence[int]) -> dict[str, np.ndarray]:
    """`loss`, `loss_spread`, `loss_count` and `loss_time`, (steps, splits), from the values of each split."""

    def columns(values: Callable[[LossValue, int], float]) -> np.ndarray:
        return np.array([[values(v, step) for v, step in zip(split, steps, strict=True)] for split in splits]).T

    return {
        "loss": columns(lambda value, step: value.mean),
        "loss_spread": columns(lambda value, step: value.spread),
        "loss_count": columns(lambda value, step: value.count),
        "loss_time": columns(lambda value, step: _time(value, step)),
    }


def _time(value: LossValue, step: int) -> float:
    """A value that names no time of its own belongs to the look; none belongs nowhere."""
    if not np.isfinite(value.mean):
        return np.nan
    return value.time if np.isfinite(value.time) else float(step)
