"""The structures that Python and the compiled kernel share, field by field as in kernel_common.h.

They hold addresses only: whoever fills one keeps its tensors alive.
"""

from __future__ import annotations

import ctypes
from typing import ClassVar

import torch

from headwise.model.dropout import Site

# fmt: off
SIZES = (
    "positions", "queries", "heads", "dictionary", "token_rows", "rows", "writes", "units", "context", "tokens_pitch",
    "score_pitch", "writes_pitch", "keys_pitch", "queries_pitch", "units_pitch", "read_pitch", "value_columns",
    "value_pitch", "mixed_pitch", "head_size", "score_blocks", "value_blocks", "project_rows", "source", "first",
    "pairs", "merged", "reads", "reads_pitch", "stream_pitch", "head_pitch", "query_pitch", "key_pitch",
    "values_pitch", "residual", "input_norm", "attention_norm", "mlp_norm", "together", "tile", "chunk",
)
WEIGHTS = (
    "score", "value", "output_t", "output", "stream", "offset", "project", "lag", "query_rows", "key_rows",
    "value_rows", "query", "query_back", "query_bias", "key", "key_back", "key_bias", "values", "values_back",
    "values_bias", "hidden_t", "hidden", "hidden_bias", "gain", "shift", "back", "back_t", "back_bias", "out_gain",
    "out_shift", "read_t", "read", "read_bias",
)
SUMS = (
    "score", "value", "output_t", "stream", "offset", "project", "lag", "query_t", "query_bias", "key_t",
    "key_bias", "values_t", "values_bias", "hidden_t", "hidden_bias", "gain", "shift", "back", "back_bias",
    "out_gain", "out_shift", "read_t", "read_bias", "query_rows", "key_rows", "value_rows", "part", "total",
)
# fmt: on


class Drop(ctypes.Structure):
    _fields_: ClassVar = [("threshold", ctypes.c_uint32), ("scale", ctypes.c_float)]


class Block(ctypes.Structure):
    _fields_: ClassVar = [
        *((name, ctypes.c_int32) for name in SIZES),
        ("epsilon", ctypes.c_float),
        ("drops", Drop * len(Site)),
        *((name, ctypes.c_void_p) for name in WEIGHTS),
    ]


class Model(ctypes.Structure):
    _fields_: ClassVar = [("blocks", ctypes.c_int64), ("block", ctypes.c_void_p)]


class Batch(ctypes.Structure):
    _fields_: ClassVar = [
        *((name, ctypes.c_int64) for name in ("first", "last")),
        *((name, ctypes.c_void_p) for name in ("tokens", "targets")),
        ("keys", ctypes.c_void_p * len(Site)),
        ("weight", ctypes.c_float),
        ("seconds", ctypes.c_void_p),
    ]


class Gradients(ctypes.Structure):
    _fields_: ClassVar = [
        *((name, ctypes.c_void_p) for name in SUMS),
        *((name, ctypes.c_int64) for name in ("size", "seldom")),
    ]


class Attended(ctypes.Structure):
    _fields_: ClassVar = [
        *((name, ctypes.c_void_p) for name in ("logits", "map", "map_total", "entropy")),
        ("counted", ctypes.c_int64),
    ]


def address(tensor: torch.Tensor) -> int | None:
    """Where a tensor's data begin; null for an empty one."""
    return tensor.data_ptr() if tensor.numel() else None
