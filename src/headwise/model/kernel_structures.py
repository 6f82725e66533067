"""The structures that Python and the compiled kernel share, field by field as in kernel.cpp.

They hold addresses only: whoever fills one keeps its tensors alive.
"""

from __future__ import annotations

import ctypes
from typing import ClassVar

import torch

SITES = 5
"""Dropout sites, in the order of `dropout.Site`."""


class Drop(ctypes.Structure):
    _fields_: ClassVar = [("threshold", ctypes.c_uint32), ("scale", ctypes.c_float)]


class Model(ctypes.Structure):
    _fields_: ClassVar = [
        *((name, ctypes.c_int32) for name in ("positions", "queries", "heads", "dictionary", "rows", "writes")),
        *((name, ctypes.c_int32) for name in ("units", "context", "tokens_pitch", "score_pitch", "writes_pitch")),
        *((name, ctypes.c_int32) for name in ("keys_pitch", "queries_pitch", "units_pitch", "read_pitch")),
        *((name, ctypes.c_int32) for name in ("value_columns", "value_pitch", "mixed_pitch")),
        *((name, ctypes.c_int32) for name in ("head_size", "score_blocks", "value_blocks", "project_rows")),
        *((name, ctypes.c_int32) for name in ("residual", "norm", "together", "tile", "chunk")),
        ("epsilon", ctypes.c_float),
        ("drops", Drop * SITES),
        *((name, ctypes.c_void_p) for name in ("score", "value", "output_t", "output")),
        *((name, ctypes.c_void_p) for name in ("stream", "offset", "project", "lag")),
        *((name, ctypes.c_void_p) for name in ("hidden_t", "hidden", "hidden_bias", "gain", "shift", "back")),
        *((name, ctypes.c_void_p) for name in ("back_t", "back_bias", "read_t", "read", "read_bias")),
    ]


class Batch(ctypes.Structure):
    _fields_: ClassVar = [
        *((name, ctypes.c_int64) for name in ("first", "last")),
        *((name, ctypes.c_void_p) for name in ("tokens", "targets")),
        ("keys", ctypes.c_void_p * SITES),
        ("weight", ctypes.c_float),
        ("seconds", ctypes.c_void_p),
    ]


class Gradients(ctypes.Structure):
    _fields_: ClassVar = [
        *((name, ctypes.c_void_p) for name in ("score", "value", "output_t", "stream", "offset", "project", "lag")),
        *((name, ctypes.c_void_p) for name in ("hidden_t", "hidden_bias", "gain", "shift", "back", "back_bias")),
        *((name, ctypes.c_void_p) for name in ("read_t", "read_bias")),
        *((name, ctypes.c_void_p) for name in ("part", "total")),
        ("size", ctypes.c_int64),
    ]


class Attended(ctypes.Structure):
    _fields_: ClassVar = [(name, ctypes.c_void_p) for name in ("logits", "map", "map_total", "entropy")]


def address(tensor: torch.Tensor) -> int | None:
    """Where a tensor's data begin; null for an empty one."""
    return tensor.data_ptr() if tensor.numel() else None
