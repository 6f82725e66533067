"""A history, or a part of one, as bytes: metrics as Parquet, snapshots as safetensors, each with a few plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from headwise.store.tables import decode_table, encode_table
from headwise.store.tensors import decode_tensors, encode_tensors

SNAPSHOT_STEPS = "snapshot"


@dataclass(frozen=True)
class History:
    """Steps in increasing order and, by name, arrays that have these steps as their first axis."""

    steps: np.ndarray
    variables: dict[str, np.ndarray]


class Codec(Protocol):
    """How a part of a history lies on disk."""

    suffix: str

    def encode(self, history: History, metadata: Mapping[str, Any]) -> bytes:
        """The same bytes for the same content."""
        ...

    def decode(self, content: bytes) -> tuple[History, dict[str, Any]]:
        """The inverse of `encode`; ValueError when this is something else."""
        ...


class ParquetCodec:
    """Metrics: many small variables, readable by any Parquet tool."""

    suffix = ".parquet"

    def encode(self, history: History, metadata: Mapping[str, Any]) -> bytes:
        return encode_table(history.steps, history.variables, metadata=metadata)

    def decode(self, content: bytes) -> tuple[History, dict[str, Any]]:
        steps, variables, metadata = decode_table(content)
        return History(steps, variables), metadata


class SafetensorsCodec:
    """Snapshots: few large arrays, such as attention maps."""

    suffix = ".safetensors"

    def encode(self, history: History, metadata: Mapping[str, Any]) -> bytes:
        return encode_tensors({SNAPSHOT_STEPS: history.steps, **history.variables}, metadata=metadata)

    def decode(self, content: bytes) -> tuple[History, dict[str, Any]]:
        arrays, metadata = decode_tensors(content)
        return History(arrays.pop(SNAPSHOT_STEPS), arrays), metadata


def checked_history(steps: np.ndarray, variables: Mapping[str, np.ndarray], *, until: int) -> History:
    """Steps as int64, or float64 where they are times; copies nothing that is in order already."""
    if until < 0:
        raise ValueError(f"a segment ends at step 0 or later, not {until}")
    steps = np.asarray(steps)
    steps = steps.astype(np.float64 if steps.dtype.kind == "f" else np.int64)
    if steps.ndim != 1 or not np.all(np.isfinite(steps)) or np.any(steps[1:] <= steps[:-1]):
        raise ValueError("steps must be one row of finite, strictly increasing numbers")
    if len(steps) and (steps[0] < 0 or steps[-1] > until):
        raise ValueError(f"steps {steps[0]} to {steps[-1]} do not lie between 0 and the segment's end {until}")
    arrays = {name: np.asarray(values) for name, values in variables.items()}
    for name, values in arrays.items():
        if name in ("step", SNAPSHOT_STEPS):
            raise ValueError(f"{name!r} is the name of the steps; call the variable otherwise")
        if values.ndim == 0 or len(values) != len(steps):
            raise ValueError(f"{name} has shape {values.shape}, its first axis must be the {len(steps)} steps")
    return History(steps, arrays)


def joined(parts: list[History]) -> History:
    """Parts that follow each other as one history."""
    if not parts:
        return History(np.zeros(0, np.int64), {})
    steps = np.concatenate([part.steps for part in parts])
    names = parts[0].variables
    return History(steps, {name: np.concatenate([part.variables[name] for part in parts]) for name in names})


def signature(history: History) -> dict[str, tuple[tuple[int, ...], str]]:
    """What every part of a history must share."""
    described = {name: (values.shape[1:], values.dtype.name) for name, values in history.variables.items()}
    return {"step": ((), history.steps.dtype.name), **described}
