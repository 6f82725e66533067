"""Figures that were drawn for a file, kept to be read back."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from headwise.view import draw
from headwise.view.panels import Sheet


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Sheet, Figure]]:
    """Every sheet that is drawn, with its figure."""
    kept: list[tuple[Sheet, Figure]] = []
    original = draw.draw_sheet

    def keep(sheet: Sheet) -> Figure:
        kept.append((sheet, original(sheet)))
        return kept[-1][1]

    monkeypatch.setattr(draw, "draw_sheet", keep)
    return kept
