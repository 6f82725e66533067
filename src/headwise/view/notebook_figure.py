"""A matplotlib figure that a notebook shows by itself, without pyplot and without a line of setup."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A `Figure` in everything else."""

    def _repr_png_(self) -> bytes:
        content = BytesIO()
        self.savefig(content, format="png", dpi=110)
        return content.getvalue()
