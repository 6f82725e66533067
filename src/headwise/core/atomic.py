"""Files that are whole at every moment: written beside their place, brought to disk, then renamed into it.

For everything the program writes that may be made again: figures, tables, pages, lists. A process that is killed in the
middle leaves what was there before, or nothing, and a `.tmp` file that no reader looks at. The files of a run are
written by `headwise.store`, which never replaces one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from headwise.core.system_errors import cannot_write

LITTER_SECONDS = 24 * 3600.0
"""What a killed writer left is removed by the next one after this time, when nobody can still be writing it."""


def replace_file(path: Path, content: bytes | str, *, option: str = "path") -> int:
    """Make `path` appear with this content at once, whatever was there before; returns its size in bytes.

    Missing folders are made. Text is written as UTF-8; what that has no bytes for (parts of a file name in another
    encoding) becomes an escape such as `\\udcff`. `option` is what to change where the path cannot be written.
    """
    whole = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with replacing(path, option=option) as file:
        file.write(whole)
    return len(whole)


@contextmanager
def replacing(path: Path, *, option: str = "path") -> Iterator[BinaryIO]:
    """An open file to write to, which takes the place of `path` when the block ends and is removed when it fails."""
    try:
        # A symbolic link stays one: the file that it points to is replaced.
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            raise OSError(errno.EISDIR if target.is_dir() else errno.EINVAL, "in the way")
        target.parent.mkdir(parents=True, exist_ok=True)
        # Its name does not grow with that of the target, which may be as long as a name can be.
        mark = f".headwise-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}"
        _remove_litter(target.parent, mark)
        temporary = target.with_name(f"{mark}-{os.urandom(6).hex()}.tmp")
        file = open(temporary, "xb")  # noqa: SIM115
    except OSError as error:
        raise cannot_write(path, error, option=option) from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        with suppress(OSError):  # the file is in its place; only a power cut within seconds could undo that
            _sync_directory(target.parent)
    except OSError as error:
        raise cannot_write(path, error, option=option) from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_litter(folder: Path, mark: str) -> None:
    for litter in folder.glob(f"{mark}-*.tmp"):
        with suppress(OSError):
            if time.time() - litter.stat().st_mtime > LITTER_SECONDS:
                litter.unlink()
