"""What the operating system refuses, as one line: something that the user can change, or a trouble of the machine.

Out of file descriptors, an error of the disk, no leave to read: none of these says anything about the data. They are
never taken for damage, nor for a file that is not there.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headwise.core.errors import ConfigError, HeadwiseError, MachineError

_FULL = "no space left on device; free some and run the same command again, or choose another {option}"
_DENIED = "permission denied; choose another {option}, one that you may write to"
_FIXES = {
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
    errno.EROFS: "read-only file system; choose another {option}",
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "the file would be larger than the limit here; raise the limit or choose another {option}",
    errno.ENAMETOOLONG: "the name is too long; choose another {option}, a shorter one",
    errno.ENOTDIR: "a part of the path is not a directory; choose another {option}",
    errno.EEXIST: "a part of the path is not a directory; choose another {option}",
    errno.EISDIR: "is a directory; choose another {option}",
    errno.ENOENT: "no such file or directory; choose another {option}",
    errno.EINVAL: "is not an ordinary file, or has a name that no file can have; choose another {option}",
    errno.ELOOP: "the path goes round in symbolic links; choose another {option}",
}
"""Errors that another path, or something that the user changes, may not have; all others are of the machine."""

_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG)
_CURE = "this is no damage and nothing is lost; run the same command again once the machine can do it"


@contextmanager
def os_errors_reported(path: Path, option: str = "--out") -> Iterator[None]:
    """Turn what the operating system refuses into one line with the path and what to do about it."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error, option=option) from error


def cannot_write(path: Path, error: OSError, *, option: str) -> HeadwiseError:
    """One line for what the operating system refused: another path may help, or the machine must be put right first."""
    fix = _FIXES.get(error.errno or 0)
    if fix is None:
        return machine_error("write", path, error)
    return ConfigError(f"cannot write {path}: {fix.format(option=option)}")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn an error of the machine while reading into one line, but let a file that is not there be seen as that."""
    try:
        yield
    except OSError as error:
        if error.errno in _NOT_THERE:
            raise
        raise machine_error("read", path, error) from error


def machine_error(action: str, path: Path, error: OSError) -> MachineError:
    """The line for what the operating system refused; nothing has been changed because of it."""
    reason = (error.strerror or str(error)).lower()
    cure = "ask its owner for leave to read it" if error.errno in (errno.EACCES, errno.EPERM) else _CURE
    return MachineError(f"cannot {action} {path}: {reason}; {cure}")


def exists(path: Path) -> bool:
    """Whether a file or directory is there; an error of the machine is not taken for a no."""
    return _status(path) is not None


def file_size(path: Path) -> int | None:
    """In bytes; `None` where nothing is there, as when a writer has dropped a file since its directory was listed."""
    status = _status(path)
    return None if status is None else status.st_size


def is_directory(path: Path) -> bool:
    """Whether a directory is there; an error of the machine is not taken for a no."""
    status = _status(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def names_in(directory: Path) -> list[str]:
    """The names in a directory, sorted; none when there is no such directory."""
    try:
        with reading(directory):
            return sorted(os.listdir(directory))
    except (OSError, ValueError):
        return []


def _status(path: Path) -> os.stat_result | None:
    try:
        with reading(path):
            return path.stat()
    except (OSError, ValueError):  # ValueError: no file can have such a name
        return None
