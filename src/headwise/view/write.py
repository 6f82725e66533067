"""Sheets as files: the figure, and beside it a CSV with the numbers that it shows."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headwise.core.atomic import replace_file
from headwise.core.errors import ConfigError
from headwise.core.readable import readable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headwise.view.panels import Sheet

DATES = {".png": "Software", ".pdf": "CreationDate", ".svg": "Date"}
"""Endings of figures, and the entry of each format that differs between two equal figures."""


def figure_path(path: Path | str) -> Path:
    """A path whose ending names a format that can be written."""
    path = Path(path)
    if path.suffix.lower() not in DATES:
        raise ConfigError(f"{path}: a figure ends in .png, .pdf or .svg")
    return path


def write_sheet(sheet: Sheet, path: Path | str, *more: Path | str) -> list[Path]:
    """Draw a sheet to one or several files and write its numbers as CSV beside the first; returns all paths."""
    from headwise.view.draw import draw_sheet

    paths = [figure_path(name) for name in (path, *more)]
    return write_drawn(sheet, draw_sheet(sheet), paths)


def write_drawn(sheet: Sheet, figure: Figure, paths: Sequence[Path]) -> list[Path]:
    """`write_sheet` for a sheet that has been drawn already."""
    from headwise.view.table import to_csv

    for name in paths:
        write_figure(figure, name)
    table = paths[0].with_suffix(".csv")
    replace_file(table, readable(to_csv(sheet)))
    return [*paths, table]


def write_figure(figure: Figure, path: Path | str) -> None:
    """Write PNG, PDF or SVG by the file's ending, with no date inside, so that equal figures are equal files."""
    from headwise.view.draw import headwise_style

    path = figure_path(path)
    suffix = path.suffix.lower()
    content = io.BytesIO()
    with headwise_style():
        figure.savefig(content, format=suffix[1:], metadata={DATES[suffix]: None})
    replace_file(path, content.getvalue())
