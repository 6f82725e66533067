"""Which arrays a run may hold, and the one form in which they go to disk."""

from __future__ import annotations

import numpy as np

DTYPES = frozenset(
    ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
)


def storable(name: str, values: np.ndarray) -> np.ndarray:
    """The array in C order and native byte order, because the encoders read memory as it lies."""
    array = np.asarray(values, order="C")
    if array.dtype.name not in DTYPES:
        raise TypeError(f"{name} has dtype {array.dtype}; store real numbers or booleans")
    return array.astype(array.dtype.newbyteorder("="), copy=False)
