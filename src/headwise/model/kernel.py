"""The compiled kernel as Python sees it: where its library is, whether it may be used, and its functions."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np

from headwise.model.kernel_sources import sources_hash

LEVELS = ("plain", "avx2", "avx512")
"""Instruction sets the kernel is compiled for, slowest first; beyond `plain` only on x86."""
STAGES = ("attention", "row by row", "matrix products", "loss", "attention backward", "sums in double")
"""What a step's time is divided into."""


class WrongKernel(Exception):
    """A library that is there and must not be used; the message gives the reason."""


def library_path() -> Path | None:
    """The library built at installation, if it was."""
    here = Path(__file__).parent
    return next((path for suffix in EXTENSION_SUFFIXES if (path := here / f"_kernel{suffix}").exists()), None)


@cache
def load(path: Path) -> ctypes.CDLL:
    """Open a library and declare its functions; `WrongKernel` if it was not built from the sources installed here."""
    expected = sources_hash(Path(__file__).parent)
    if expected is None:
        raise WrongKernel("its sources are not installed beside it, so it cannot be checked")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as problem:
        raise WrongKernel(f"it does not load: {problem}") from None
    built_from = getattr(library, "headwise_sources", None)
    if built_from is None:
        raise WrongKernel("it was built from older sources")
    built_from.restype = library.headwise_compiler.restype = ctypes.c_char_p
    found = built_from().decode()
    if found != expected:
        raise WrongKernel(f"it was built from other sources ({found}) than those installed ({expected})")
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
    except WrongKernel as problem:
        return f"the kernel cannot be used: {problem}; install headwise again"
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


def identity() -> dict[str, str]:
    """What the last bits of a result depend on: the sources and the compiler of the kernel, and its instruction set."""
    opened = library()
    return {
        "sources": opened.headwise_sources().decode(),
        "compiler": opened.headwise_compiler().decode(),
        "instructions": level(),
    }


def keep_bits(key: int, elements: int, threshold: int) -> np.ndarray:
    """The kernel's own dropout mask of one stream; equal to `dropout.keep_bits`."""
    lanes = np.zeros(elements + 64, dtype=np.uint16)
    library().headwise_keep(key, elements, threshold, lanes.ctypes.data)
    return np.asarray(lanes[:elements] != 0)
