"""The compiled kernel as Python sees it: where its library is, its structures, its functions.

The structures mirror those of kernel.cpp field by field. They hold addresses only: whoever fills one keeps its tensors
alive.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch

LEVELS = ("plain", "avx2", "avx512")
"""Instruction sets the kernel is compiled for, slowest first; beyond `plain` only on x86."""
STAGES = ("attention", "row by row", "matrix products", "loss", "attention backward", "sums in double")
"""What a step's time is divided into."""
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


def library_path() -> Path | None:
    """The library built at installation, if it was."""
    here = Path(__file__).parent
    return next((path for suffix in EXTENSION_SUFFIXES if (path := here / f"_kernel{suffix}").exists()), None)


@cache
def load(path: Path) -> ctypes.CDLL:
    """Open a library and declare its functions; `OSError` when its structures are not the ones above."""
    library = ctypes.CDLL(str(path))
    expected = [ctypes.sizeof(structure) for structure in (Model, Batch, Gradients, Attended)]
    sizes = (ctypes.c_int64 * len(expected))()
    library.headwise_sizes(sizes)
    if list(sizes) != expected:
        raise OSError("it was built from other sources; install headwise again")
    library.headwise_train.argtypes = [ctypes.c_void_p] * 3
    library.headwise_train.restype = ctypes.c_double
    library.headwise_evaluate.argtypes = [ctypes.c_void_p] * 3
    library.headwise_evaluate.restype = None
    library.headwise_keep.argtypes = [ctypes.c_uint64, ctypes.c_int32, ctypes.c_uint32, ctypes.c_void_p]
    library.headwise_keep.restype = None
    library.headwise_level.restype = ctypes.c_int
    library.headwise_limit.argtypes = [ctypes.c_int]
    library.headwise_limit.restype = None
    return library


def missing() -> str | None:
    """Why there is no kernel here, or `None` if there is one."""
    path = library_path()
    if path is None:
        return "the kernel was not built at installation (no C++ compiler found then)"
    try:
        load(path)
    except AttributeError:
        return "the kernel does not load: it was built from older sources; install headwise again"
    except OSError as problem:
        return f"the kernel does not load: {problem}"
    return None


def library() -> ctypes.CDLL:
    """The library; only where nothing is `missing`."""
    path = library_path()
    if path is None:
        raise FileNotFoundError(missing())
    return load(path)


def level() -> str:
    """The instruction set in use."""
    return LEVELS[library().headwise_level()]


def keep_bits(key: int, elements: int, threshold: int) -> np.ndarray:
    """The kernel's own dropout mask of one stream; equal to `dropout.keep_bits`."""
    lanes = np.zeros(elements + 64, dtype=np.uint16)
    library().headwise_keep(key, elements, threshold, lanes.ctypes.data)
    return np.asarray(lanes[:elements] != 0)
