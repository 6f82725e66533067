"""Stored sequences as the input rows of a model: whole, or as windows sliding over them.

A stored sequence has w initial tokens and T predicted ones. Whole: the input is everything but the last token and
the last T predictions count. Windows of c tokens: each predicted token that has c tokens before it is one row, and
only the prediction after the window's last token counts.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from headwise.model.config import ModelConfig


class InputRows(NamedTuple):
    """What a model is given, and what it should predict."""

    inputs: Tensor
    """(rows, positions)"""
    targets: Tensor
    """(rows, counted)"""
    counted: int


def positions_needed(model: ModelConfig, *, order: int, predicted: int) -> int:
    """Input positions of a model on sequences of `order` initial and `predicted` further tokens."""
    return model.window if model.window is not None else order + predicted - 1


def first_target(model: ModelConfig, *, order: int) -> int:
    """Index (from 0) of the first predicted token that the model predicts; later than 0 only for windows beyond w."""
    return 0 if model.window is None else max(0, model.window - order)


def input_rows(tokens: Tensor, model: ModelConfig, *, predicted: int) -> InputRows:
    """Cut stored sequences, (count, w + T), into a model's rows."""
    order = tokens.shape[1] - predicted
    if model.window is None:
        return InputRows(tokens[:, :-1].contiguous(), tokens[:, order:].contiguous(), predicted)
    c = model.window
    start = order + first_target(model, order=order) - c
    windows = tokens[:, start:].unfold(1, c + 1, 1)
    rows = windows.reshape(-1, c + 1)
    return InputRows(rows[:, :-1].contiguous(), rows[:, -1:].contiguous(), 1)


def as_sequences(rows: Tensor, model: ModelConfig, *, order: int, predicted: int) -> Tensor:
    """Back from rows, (rows, counted, ...), to (sequences, predicted targets, ...)."""
    targets = predicted - first_target(model, order=order)
    return rows.reshape(-1, targets, *rows.shape[2:]) if model.window is not None else rows
