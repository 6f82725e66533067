"""A quantity of many runs over two config keys: the data of a phase diagram."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.readable import on_one_line

if TYPE_CHECKING:
    import pyarrow as pa

QUANTITIES = {
    "stages": ("stages.loss", "number of stages (loss view)"),
    "stages-heads": ("stages.heads", "number of stages (heads view)"),
    "competitive-end": ("competitive.end", "end of the competitive phase (step)"),
    "offshoots": ("offshoots", "offshoots"),
    "order": ("order", "seeds that pass the predictors in order"),
    "excess-loss": ("final.excess_loss", "final excess loss (nats)"),
}
"""What can be shown, the column of `runs.parquet` that holds it, and its label."""

HOLDS = {"holds": 1.0, "does not apply": 0.0}
"""How a claim about one run is counted; a cell shows the number of seeds for which it holds."""

COUNTS = ("stages", "stages-heads", "offshoots")
"""Quantities that a longer run could only raise."""

MOST_CELLS = 10_000
"""A hundred values of either key; a figure of more would be unreadable, and large."""

PREFIX = re.compile(r"final\.kl\.prefix_[0-9]{1,6}")
"""The columns with the last distance to each prefix predictor."""

STILL_FALLING = 0.1
"""A run whose excess loss lost more than this share in its last tenth had not ended learning."""


@dataclass(frozen=True)
class Diagram:
    """Every cell, (y, x), over its seeds; NaN where no run has the quantity. For a claim `median` counts seeds."""

    x_key: str
    y_key: str
    quantity: str
    label: str
    x: list[Any]
    y: list[Any]
    median: np.ndarray
    low: np.ndarray
    high: np.ndarray
    found: np.ndarray
    """Runs with the quantity."""
    runs: np.ndarray
    """Runs in the cell."""
    lower_bound: np.ndarray
    """Whether at least half of the runs ended while still learning, so that a count is only a lower bound."""


def phase_diagram(table: Path, *, x: str, y: str, quantity: str) -> Diagram:
    """Read a collected table, grouped by two config keys."""
    if quantity not in QUANTITIES:
        raise ConfigError(f"--value {quantity}: take one of {', '.join(QUANTITIES)}")
    column, label = QUANTITIES[quantity]
    content = _read(table, wanted=("run", f"config.{x}", f"config.{y}", column, "final.fall"))
    across, up = content[f"config.{x}"], content[f"config.{y}"]
    values = content.get(column, [None] * len(across))
    learning = still_learning(content)
    x_values, y_values = (sorted({v for v in axis if v is not None}, key=_order) for axis in (across, up))
    shape = (len(y_values), len(x_values))
    if shape[0] * shape[1] > MOST_CELLS:
        raise ConfigError(f"{x} has {shape[1]} values and {y} {shape[0]}: more than {MOST_CELLS} cells are not drawn")
    median, low, high = (np.full(shape, np.nan) for _ in range(3))
    found, runs = np.zeros(shape, dtype=int), np.zeros(shape, dtype=int)
    lower_bound = np.zeros(shape, dtype=bool)
    for j, y_value in enumerate(y_values):
        for i, x_value in enumerate(x_values):
            inside = [k for k, place in enumerate(zip(across, up, strict=True)) if place == (x_value, y_value)]
            cell = [value for k in inside if (value := _number(values[k])) is not None]
            runs[j, i], found[j, i] = len(inside), len(cell)
            if cell and quantity == "order":
                median[j, i] = low[j, i] = high[j, i] = sum(cell)
            elif cell:
                median[j, i], low[j, i], high[j, i] = np.median(cell), min(cell), max(cell)
                unfinished = sum(learning[k] for k in inside)
                lower_bound[j, i] = quantity in COUNTS and 2 * unfinished >= len(inside)
    return Diagram(x, y, quantity, label, x_values, y_values, median, low, high, found, runs, lower_bound)


def still_learning(content: Mapping[str, Sequence[Any]]) -> list[bool]:
    """For each run of a table, whether it ended while its loss fell or before the full predictor was the nearest."""
    falls = content.get("final.fall", [None] * len(content["run"]))
    prefixes = sorted(filter(PREFIX.fullmatch, content), key=lambda name: int(name.rpartition("_")[2]))
    unfinished = []
    for k, fall in enumerate(falls):
        kl = [content[name][k] for name in prefixes if content[name][k] is not None]
        unfinished.append((fall is not None and fall > STILL_FALLING) or (len(kl) > 1 and min(kl) < kl[-1]))
    return unfinished


def _read(table: Path, *, wanted: Sequence[str]) -> dict[str, list[Any]]:
    """Those of these columns that a table has, and its distances to predictors; any file may be given for a table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not table.is_file():
        raise ConfigError(f"{table} is not a file; `headwise collect DIR` writes runs.parquet")
    try:
        # Opened here, because pyarrow takes no path that is not valid Unicode.
        with open(table, "rb") as opened, pq.ParquetFile(opened) as file:
            schema = file.schema_arrow
            names = [name for name in schema.names if name in wanted or PREFIX.fullmatch(name)]
            for name in names:
                _require_plain(name, schema.field(name).type)
            if "run" not in names:
                raise ValueError("it has no column `run`")
            for column in wanted[1:3]:
                if column not in names:
                    known = [name.removeprefix("config.") for name in schema.names if name.startswith("config.")]
                    raise ValueError(f"no run has the key {column.removeprefix('config.')}; known: {', '.join(known)}")
            content: dict[str, list[Any]] = file.read(names).to_pydict()
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        reason = on_one_line(str(error)) or type(error).__name__
        raise ConfigError(f"{table} is not a table of `headwise collect`: {reason}") from None
    return content


def _require_plain(name: str, kind: pa.DataType) -> None:
    import pyarrow.types as types

    numbers = (types.is_boolean, types.is_integer, types.is_floating, types.is_null)
    text = (types.is_string, types.is_large_string)
    allowed = numbers if PREFIX.fullmatch(name) or name == "final.fall" else (*numbers, *text)
    if not any(is_kind(kind) for is_kind in allowed):
        raise ValueError(f"its column {name} holds {kind}")


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return HOLDS.get(value)
    return None if value is None else float(value)


def _order(value: Any) -> tuple[int, Any]:
    return (0, value) if isinstance(value, int | float) else (1, str(value))
