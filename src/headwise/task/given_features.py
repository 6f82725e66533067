"""Feature matrices that are given rather than drawn: those behind the published figures, and any from a `.npy` file.

The published figures show one task. Its matrices come from torch's default CPU generator with seed 0: three standard
normal 50 x 50 matrices one after the other, each replaced by U·(Vh)ᵀ of its singular value decomposition U, S, Vh. The
signs of such a decomposition depend on the linear-algebra library, and this product depends on them, so the matrices
themselves are part of the package.

Matrices lie in the order drawn, `[drawn, output, token]`: the first belongs to the group that reaches furthest back,
whatever its importance. With fewer groups than matrices the first ones are used. Each is multiplied by its group's
importance; none is normalised here.
"""

from __future__ import annotations

import functools
import hashlib
import tokenize
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from headwise.core.errors import ConfigError
from headwise.core.readable import on_one_line, readable

if TYPE_CHECKING:
    import numpy as np

FIGURES = "figures-features.npy"
FIGURES_DIGEST = "e96d68934182283307ef01f6825b4c6ebdc0d6d46cc8244daa23ea418819313d"
FIGURES_COUNT, FIGURES_SIZE = 3, 50

LARGEST_BYTES = 4 * 2**30
"""A file beyond this is surely none of feature matrices that a task may take."""


def furthest_first(lags: Sequence[Sequence[int]]) -> list[int]:
    """Indices of the groups from the one that reaches furthest back; of two that reach equally far, the later one."""
    return sorted(range(len(lags)), key=lambda k: (-max(lags[k]), -min(lags[k]), -k))


@functools.cache
def figures_matrices() -> np.ndarray:
    """The matrices behind the published figures, (3, 50, 50) in float64, in the order drawn."""
    content = resources.files("headwise.task").joinpath(FIGURES).read_bytes()
    if hashlib.sha256(content).hexdigest() != FIGURES_DIGEST:
        raise ConfigError(f"task.features: {FIGURES} of this installation is damaged; install headwise again")
    matrices = _parsed(content)
    matrices.setflags(write=False)
    return matrices


def frobenius_in_order(matrices: np.ndarray) -> np.ndarray:
    """The matrices made Frobenius-orthogonal by Gram-Schmidt in the given order, each back at the norm it had."""
    import numpy as np

    flat = matrices.reshape(len(matrices), -1)
    norms = np.linalg.norm(flat, axis=1, keepdims=True)
    # QR is Gram-Schmidt, but for the signs of the result.
    q, r = np.linalg.qr(flat.T)
    return np.asarray(norms * (q * np.sign(np.diagonal(r))).T).reshape(matrices.shape)


def file_digest(path: str) -> str:
    """SHA-256 of a file of matrices, once it is sure that it holds some."""
    content = _content(path)
    _checked(_read(content, path), path)
    return hashlib.sha256(content).hexdigest()


def file_shape(path: str) -> tuple[int, ...] | None:
    """How many matrices a file holds and their size; `None` where it cannot be read, as when a stored run is read."""
    try:
        return _checked(_read(_content(path), path), path).shape
    except ConfigError:
        return None


def file_matrices(path: str, digest: str) -> np.ndarray:
    """The matrices of a file, (count, d, d) in float64, whose content must be what the config was made from."""
    content = _content(path)
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise ConfigError(
            f"task.features: {_shown(path)} is not the file this run was made from (SHA-256 {found[:12]}, "
            f"not {digest[:12]}); put that one back or choose another --out"
        )
    return _checked(_read(content, path), path)


def _content(path: str) -> bytes:
    try:
        if Path(path).exists() and not Path(path).is_file():
            raise ConfigError(f"task.features: {_shown(path)} is not a file; give a .npy file of matrices")
        if Path(path).stat().st_size > LARGEST_BYTES:
            raise ConfigError(f"task.features: {_shown(path)} has more than {LARGEST_BYTES // 2**30} GiB")
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or "no such file"
        raise ConfigError(f"task.features: {_shown(path)} cannot be read: {reason}") from None


def _read(content: bytes, path: str) -> np.ndarray:
    try:
        return _parsed(content)
    # numpy takes a header it does not understand for one of Python 2 and gives it to Python's own tokenizer.
    except (ValueError, SyntaxError, TypeError, OverflowError, MemoryError, EOFError, tokenize.TokenError) as error:
        reason = on_one_line(str(error))[:200] or type(error).__name__
        raise ConfigError(f"task.features: {_shown(path)} is no .npy file of matrices: {reason}") from None
    except RecursionError:
        raise ConfigError(f"task.features: {_shown(path)} is no .npy file of matrices: nested too deeply") from None


def _parsed(content: bytes) -> np.ndarray:
    """The array of an .npy file; a header that promises another size than the file has is refused before it is made."""
    import io

    import numpy as np

    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version[0]}.{version[1]} of the format is unknown")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(stream)
    if dtype.kind not in "fiu":
        raise ValueError(f"it holds {dtype}, not real numbers")
    count = 1
    for length in shape:
        count *= int(length)
    if count * dtype.itemsize != len(content) - stream.tell():
        raise ValueError(f"its header promises {count} numbers of {dtype}, which is not what follows")
    values = np.frombuffer(content, dtype=dtype, offset=stream.tell())
    return np.array(values.reshape(shape, order="F" if fortran else "C"), dtype=np.float64, order="C")


def _checked(matrices: np.ndarray, path: str) -> np.ndarray:
    import numpy as np

    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or not matrices.size:
        raise ConfigError(
            f"task.features: {_shown(path)} has the shape {matrices.shape}; give matrices as (count, d, d)"
        )
    largest = np.abs(matrices).max(axis=(1, 2))
    if not np.isfinite(largest).all():
        raise ConfigError(f"task.features: {_shown(path)} holds numbers that are not finite")
    if not largest.all():
        raise ConfigError(f"task.features: matrix {int(np.argmin(largest)) + 1} of {_shown(path)} is zero")
    return matrices


def _shown(path: str) -> str:
    return on_one_line(readable(path))
