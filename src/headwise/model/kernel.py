"""The compiled kernel as Python sees it: where its library is, its structures, its functions.

The structures mirror those of kernel.cpp field by field. A field called with a tensor keeps only its address: whoever
fills a structure keeps the tensor alive.
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

_Int, _Pointer, _Float = ctypes.c_int32, ctypes.c_void_p, ctypes.c_float


class Drop(ctypes.Structure):
    threshold: int
    scale: float
    _fields_: ClassVar = [("threshold", ctypes.c_uint32), ("scale", _Float)]


class Shape(ctypes.Structure):
    sequences: int
    _fields_: ClassVar = [
        *((name, _Int) for name in ("sequences", "positions", "queries", "heads", "dictionary", "rows", "writes")),
        *((name, _Int) for name in ("context", "rows_pitch", "writes_pitch", "keys_pitch", "queries_pitch")),
        ("drop", Drop),
    ]


class AttentionForward(ctypes.Structure):
    tokens: int | None
    keys: int | None
    _fields_: ClassVar = [
        (name, _Pointer) for name in ("tokens", "score", "value", "keys", "weights", "out", "map", "entropy")
    ]


class AttentionBackward(ctypes.Structure):
    tokens: int | None
    _fields_: ClassVar = [
        (name, _Pointer) for name in ("tokens", "value", "weights", "grads", "score_grad", "value_grad")
    ]


class CrossEntropy(ctypes.Structure):
    count: int
    targets: int | None
    _fields_: ClassVar = [
        ("count", ctypes.c_int64),
        ("classes", _Int),
        ("pitch", _Int),
        ("weight", _Float),
        ("logits", _Pointer),
        ("targets", _Pointer),
        ("bias_grad", _Pointer),
    ]


class Branch(ctypes.Structure):
    sequences: int
    keys: int | None
    tokens: int | None
    _fields_: ClassVar = [
        *((name, _Int) for name in ("sequences", "positions", "queries", "dictionary", "width", "pitch")),
        ("drop", Drop),
        ("epsilon", _Float),
        *((name, _Pointer) for name in ("keys", "branch", "offset", "tokens", "stream", "before", "gain", "shift")),
        *((name, _Pointer) for name in ("out", "inverse_deviation")),
    ]


class BranchGradients(ctypes.Structure):
    forward: Branch
    _fields_: ClassVar = [
        ("forward", Branch),
        *((name, _Pointer) for name in ("grad", "later", "later_gain", "gain_grad", "shift_grad", "branch_grad")),
        *((name, _Pointer) for name in ("offset_grad", "stream_grad")),
    ]


class Hidden(ctypes.Structure):
    sequences: int
    keys: int | None
    _fields_: ClassVar = [
        *((name, _Int) for name in ("sequences", "queries", "width", "pitch")),
        ("drop", Drop),
        *((name, _Pointer) for name in ("keys", "hidden", "grad", "bias_grad")),
    ]


def address(tensor: torch.Tensor | None) -> int | None:
    """Where a tensor's data begin; null for none and for an empty one."""
    return None if tensor is None or tensor.numel() == 0 else tensor.data_ptr()


def library_path() -> Path | None:
    """The library built at installation, if it was."""
    here = Path(__file__).parent
    return next((path for suffix in EXTENSION_SUFFIXES if (path := here / f"_kernel{suffix}").exists()), None)


@cache
def load(path: Path) -> ctypes.CDLL:
    """Open a library and declare its functions."""
    library = ctypes.CDLL(str(path))
    pointers = (
        *(("attention_forward", 2), ("attention_backward", 2), ("branch_forward", 1), ("branch_backward", 1)),
        *(("relu_forward", 1), ("relu_backward", 1), ("cross_entropy", 1)),
    )
    for name, count in pointers:
        function = getattr(library, f"headwise_{name}")
        function.argtypes = [ctypes.c_void_p] * count
        function.restype = ctypes.c_double if name == "cross_entropy" else None
    library.headwise_drain.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    library.headwise_drain.restype = None
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
    except (OSError, AttributeError) as problem:
        return f"the kernel does not load: {problem}"
    return None


def level() -> str:
    """The instruction set in use."""
    path = library_path()
    assert path is not None
    return LEVELS[load(path).headwise_level()]


def keep_bits(key: int, elements: int, threshold: int) -> np.ndarray:
    """The kernel's own dropout mask of one stream; equal to `dropout.keep_bits`."""
    path = library_path()
    assert path is not None
    lanes = np.zeros(elements + 64, dtype=np.uint16)
    load(path).headwise_keep(key, elements, threshold, lanes.ctypes.data)
    return np.asarray(lanes[:elements] != 0)
