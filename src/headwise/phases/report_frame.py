"""Reports as tables: a row for each stage, phase and event, in time order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "kind",
    "step",
    "end",
    "view",
    "label",
    "score",
    "block",
    "head",
    "from",
    "to",
    "gain",
    "depth",
    "duration",
    "recovers",
    "from_step",
    "to_step",
    "chance",
)
"""`kind` is stage, competitive, cooperative, offshoot, addition, role, transition, climb or compensation; what does
not apply to it is missing. `from_step` and `to_step` are the ends of the interval in which the event happens.
"""

TYPES = {
    "step": "float64",
    "end": "float64",
    "score": "float64",
    "block": "Int64",
    "head": "Int64",
    "gain": "float64",
    "depth": "float64",
    "duration": "float64",
    "recovers": "boolean",
    "from_step": "float64",
    "to_step": "float64",
    "chance": "float64",
}


def ends_of(interval: tuple[float, float] | None) -> dict[str, float]:
    """The columns of an interval."""
    return {} if interval is None else {"from_step": interval[0], "to_step": interval[1]}


def report_frame(rows: Iterable[Mapping[str, Any]], *, first: Mapping[str, str] | None = None) -> pd.DataFrame:
    """A DataFrame of these rows sorted by step; `first` names further columns to begin with, and their types."""
    import pandas as pd

    begin = dict(first or {})
    columns = [*begin, *COLUMNS]
    table: dict[str, list[Any]] = {name: [] for name in columns}
    for row in sorted(rows, key=lambda row: float(row["step"])):
        for name in columns:
            table[name].append(row.get(name))
    types = {**dict.fromkeys(columns, "object"), **TYPES, **begin}
    return pd.DataFrame({name: pd.Series(values, dtype=types[name]) for name, values in table.items()})
