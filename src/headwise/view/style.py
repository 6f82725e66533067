"""Colours and marks that mean the same thing in every figure, chosen to stay apart for colour-blind readers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headwise.core.palette import GROUPS, HEADS, group_colour, head_colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["GROUPS", "HEADS", "LINES", "drawing", "group_colour", "head_colour", "new_figure", "save"]

LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))


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
