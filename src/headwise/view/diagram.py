"""A phase diagram as a figure: colour and number say the same, so that neither is needed alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from headwise.view.style import drawing, new_figure, save


class Cells(Protocol):
    """What is drawn: medians over two keys, (y, x)."""

    @property
    def x_key(self) -> str: ...
    @property
    def y_key(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def x(self) -> Sequence[Any]: ...
    @property
    def y(self) -> Sequence[Any]: ...
    @property
    def median(self) -> np.ndarray: ...
    @property
    def spread(self) -> np.ndarray: ...


def draw_diagrams(diagrams: Sequence[Cells], path: Path) -> None:
    """One panel per quantity, sharing both axes."""
    with drawing():
        first = diagrams[0]
        width = 1.3 + 0.55 * len(first.x)
        figure = new_figure(width * len(diagrams), 1.2 + 0.42 * len(first.y))
        panels = figure.subplots(1, len(diagrams), sharey=True, squeeze=False)[0]
        for axes, diagram in zip(panels, diagrams, strict=True):
            picture = axes.imshow(np.ma.masked_invalid(diagram.median), origin="lower", cmap="cividis", aspect="auto")
            low, high = np.nanmin(diagram.median), np.nanmax(diagram.median)
            for (j, i), value in np.ndenumerate(diagram.median):
                shade = 0.0 if high == low or np.isnan(value) else (value - low) / (high - low)
                text = "–" if np.isnan(value) else f"{value:.3g}"
                if not np.isnan(value) and diagram.spread[j, i] > 0:
                    text += f"\n±{diagram.spread[j, i] / 2:.2g}"
                axes.text(
                    i, j, text, ha="center", va="center", fontsize=6.5, color="black" if shade > 0.55 else "white"
                )
            axes.set_xticks(range(len(diagram.x)), [tick(v) for v in diagram.x])
            axes.set_yticks(range(len(diagram.y)), [tick(v) for v in diagram.y])
            axes.set(xlabel=diagram.x_key, title=diagram.label)
            axes.grid(visible=False)
            figure.colorbar(picture, ax=axes, shrink=0.9)
        panels[0].set_ylabel(first.y_key)
        save(figure, path)


def tick(value: Any) -> str:
    """A key's value on an axis."""
    return f"{value:g}" if isinstance(value, int | float) else str(value)
