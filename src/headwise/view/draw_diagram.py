"""`draw_diagram`: a phase diagram over two config keys, from a collected table to a figure and its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwise.core.named_options import named_options
from headwise.core.plain import plain
from headwise.view.phase_diagram import Diagram, phase_diagram
from headwise.view.sheets.diagram import COLUMNS, diagram_sheet
from headwise.view.write import write_sheet


@dataclass(frozen=True, eq=False)
class DrawnDiagram:
    """A phase diagram on disk and its cells; `str` of this is what `headwise diagram` says."""

    figure: Path
    table: Path
    diagrams: tuple[Diagram, ...] = field(repr=False)

    def to_json(self) -> list[dict[str, Any]]:
        """For each quantity `value`, `x`, `y` and the cells, (y, x), ready for JSON."""
        return [
            {"value": one.quantity, "x": one.x, "y": one.y, **{name: plain(getattr(one, name)) for name in COLUMNS}}
            for one in self.diagrams
        ]

    def __str__(self) -> str:
        return f"wrote {self.figure} and {self.table}"


@named_options
def draw_diagram(
    table: Path | str, *, x: str, y: str, value: Sequence[str] | str = ("stages",), to: Path | str = "diagram.png"
) -> DrawnDiagram:
    """Draw quantities of many runs over two config keys, one panel each, and write the cells beside it as CSV.

    `table` is the `runs.parquet` that `collect` writes. A value is `stages`, `stages-heads`, `competitive-end`,
    `offshoots`, `order` or `excess-loss`.

    >>> import tempfile
    >>> from headwise import collect, draw_diagram, experiment, sweep
    >>> small = {"task.d": 6, "task.T": 5, "train.samples": 60, "train.steps": 4, "measure.test_samples": 30}
    >>> axes = {"task.m": [1, 1.5], "train.lr": [0.01, 0.02]}
    >>> with tempfile.TemporaryDirectory() as out:
    ...     _ = sweep(experiment("minimal", "redrawn", changes=small), over=axes, out=out)
    ...     table = collect(out, f"{out}/collected").runs
    ...     drawn = draw_diagram(table, x="task.m", y="train.lr", value="excess-loss", to=f"{out}/diagram.png")
    >>> drawn.diagrams[0].x, drawn.diagrams[0].runs.tolist()
    ([1.0, 1.5], [[1, 1], [1, 1]])
    """
    names = [value] if isinstance(value, str) else list(value)
    diagrams = tuple(phase_diagram(Path(table), x=x, y=y, quantity=name) for name in names)
    figure, numbers = write_sheet(diagram_sheet(diagrams), to)
    return DrawnDiagram(figure, numbers, diagrams)
