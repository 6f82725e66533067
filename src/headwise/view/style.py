"""Colours and line styles of figures; colours of heads and groups are those of `core.palette`, as on the page."""

from __future__ import annotations

from headwise.core.palette import GROUPS

RUNS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
"""Experiments that are compared with each other, in the order given."""

LineStyle = str | tuple[int, tuple[float, ...]]
"""A line style as matplotlib names it, or (offset, lengths of dashes and gaps)."""

LINES: tuple[LineStyle, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))

DASHES = {"--": (3.7, 1.6), "-.": (6.4, 1.6, 1.0, 1.6), ":": (1.0, 1.65)}
"""Dashes and gaps of the styles that have a name, in widths of the line."""

LOSS = "#555555"
"""A loss beside other curves."""

THIN = 0.6
"""Width of a seed beside the one that is drawn in full."""

NARROWEST, STEP, WIDEST = 1.0, 1.15, 5.0
"""Widths of heads that may coincide: that of the last head, from one to the next, and the most there is."""


def run_colour(index: int) -> str:
    """Colour of an experiment counted from 0."""
    return RUNS[index % len(RUNS)]


def line_style(index: int) -> LineStyle:
    """Line style of a group, predictor or experiment counted from 0."""
    return LINES[index % len(LINES)]


def lone_style(index: int) -> LineStyle:
    """Line style of a line that one number tells from the others: with more lines than colours, no two of the first 36
    have both the colour and the style of each other.
    """
    return line_style(index + index // len(GROUPS))


def head_width(index: int, heads: int) -> float:
    """Width of a head counted from 0 among heads that may coincide: each is narrower than those drawn before it.

    So heads that do the same show as one ribbon in all their colours, and not as the last of them alone.
    """
    step = min(STEP, (WIDEST - NARROWEST) / max(heads - 1, 1))
    return NARROWEST + step * (heads - 1 - index)


def in_phase(style: LineStyle, width: float, *, unit: float = 1.8) -> LineStyle:
    """A line style whose dashes are as long for every width, so that dashed lines that coincide lie on each other."""
    dashes = DASHES.get(style) if isinstance(style, str) else style[1]
    return style if dashes is None else (0, tuple(length * unit / width for length in dashes))


def paler(colour: str, *, share: float = 0.55) -> str:
    """A colour `#RRGGBB` mixed with white, opaque: what lies under it does not shine through."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - (255 - part) * (1 - share)):02X}" for part in parts)
