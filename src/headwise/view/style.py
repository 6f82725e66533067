"""Colours and marks that mean the same thing in every figure, chosen to stay apart for colour-blind readers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
"""Head 1, 2, 3, ...: the same head has the same colour everywhere."""

GROUPS = ("#332288", "#AA4499", "#117733", "#DDCC77", "#88CCEE", "#882255")
"""Group or predictor 1, 2, 3, ...; also told apart by line style."""

LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))


def head_colour(index: int) -> str:
    """Colour of a head counted from 0."""
    return HEADS[index % len(HEADS)]


def group_colour(index: int) -> str:
    """Colour of a group counted from 0."""
    return GROUPS[index % len(GROUPS)]


@contextmanager
def drawing() -> Iterator[None]:
    """headwise's style, without a screen and without touching the caller's settings."""
    import matplotlib as mpl

    with mpl.rc_context(fname=str(Path(__file__).with_name("headwise.mplstyle"))):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in inches; needs no screen and leaks no state into pyplot."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path) -> None:
    """Write PNG, PDF or SVG by the file's ending, with no date inside, so that equal figures are equal files."""
    from headwise.core.errors import ConfigError

    suffix = path.suffix.lower()
    if suffix not in (".png", ".pdf", ".svg"):
        raise ConfigError(f"{path}: a figure ends in .png, .pdf or .svg")
    dates = {".png": "Software", ".pdf": "CreationDate", ".svg": "Date"}
    metadata: dict[str, str | None] = {dates[suffix]: None}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata=metadata)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from None
