"""Plain values as JSON text: exact for what a run resumes from, portable for what people and other tools read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


def exact_json(value: Any) -> str:
    """Canonical text that `json.loads` turns back into an equal value, floats to the last bit, infinities and NaN too.

    Raises TypeError for what JSON would silently change: tuples, keys that are not strings, numpy scalars.
    """
    _require_plain(value, where="state")
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def portable_json(value: Any, *, indent: int | None = None) -> str:
    """Strict JSON of anything a record may hold: arrays become lists, paths text, and `nan` and `inf` their names."""
    return json.dumps(_portable(value), sort_keys=True, indent=indent, allow_nan=False)


def require_object(value: Any) -> None:
    """ValueError unless this is a JSON object, such as the one that every file of a run carries."""
    if not isinstance(value, dict):
        raise ValueError(f"an object is needed, not {type(value).__name__}")


def _require_plain(value: Any, *, where: str) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{where}: key {key!r} is not a string, so it would not come back as it went")
            _require_plain(item, where=f"{where}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _require_plain(item, where=f"{where}[{index}]")
    elif value is not None and type(value) not in (str, int, float, bool):
        raise TypeError(
            f"{where}: {type(value).__name__} does not survive JSON; give str, int, float, bool, list or dict"
        )


def _portable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _portable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_portable(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _portable(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Path):
        return str(value)
    return value
