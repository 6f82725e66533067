"""Figures that were written to a file, kept to be read back."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from headwise.view import table, write
from headwise.view.panels import Sheet

sys.path.insert(0, str(Path(__file__).parent))
from drawn_numbers import Written


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    """Every sheet and figure that is written while a test runs."""
    kept = Written()
    to_csv, write_figure = table.to_csv, write.write_figure

    def keep_sheet(sheet: Sheet) -> str:
        kept.sheets.append(sheet)
        return to_csv(sheet)

    def keep_figure(figure: Figure, path: Path) -> None:
        kept.figures.append(figure)
        kept.paths.append(path)
        write_figure(figure, path)

    monkeypatch.setattr(table, "to_csv", keep_sheet)
    monkeypatch.setattr(write, "write_figure", keep_figure)
    return kept
