"""Colours and line styles of figures; colours of heads and groups are those of `core.palette`, as on the page."""

from __future__ import annotations

RUNS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
"""Experiments that are compared with each other, in the order given."""

LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))

LOSS = "#555555"
"""A loss beside other curves."""


def run_colour(index: int) -> str:
    """Colour of an experiment counted from 0."""
    return RUNS[index % len(RUNS)]


def line_style(index: int) -> str | tuple[int, tuple[int, ...]]:
    """Line style of a group, predictor or experiment counted from 0."""
    return LINES[index % len(LINES)]
