"""Colours that mean the same thing in every figure and page, chosen to stay apart for colour-blind readers."""

from __future__ import annotations

HEADS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
"""Head 1, 2, 3, ...: the same head has the same colour everywhere."""

GROUPS = ("#332288", "#AA4499", "#117733", "#DDCC77", "#88CCEE", "#882255")
"""Group, pattern or predictor 1, 2, 3, ...; lines of groups also differ in style."""


def head_colour(index: int) -> str:
    """Colour of a head counted from 0."""
    return HEADS[index % len(HEADS)]


def group_colour(index: int) -> str:
    """Colour of a group counted from 0."""
    return GROUPS[index % len(GROUPS)]
