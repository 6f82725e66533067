"""Write-once files that a killed process cannot leave half written, each with its SHA-256 beside it.

A file becomes visible by a rename, after its content and its sidecar `<name>.sha256` have reached the disk. So whatever
the moment of a crash or a power cut, a visible file is complete and can be verified; a sidecar without its file, or a
`.tmp` file, is litter that means nothing. Sidecars are in the form that `sha256sum --check` reads.

Nothing is ever overwritten: that would open a moment in which file and sidecar disagree.

Only bytes that were read and are wrong, or a file that is not there, are damage; see `core/system_errors.py`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from headwise.core.errors import CorruptData, RunFailed
from headwise.core.system_errors import exists, os_errors_reported, reading

SIDECAR_SUFFIX = ".sha256"
TEMPORARY_SUFFIX = ".tmp"


@dataclass(frozen=True)
class Verified:
    """The content of a file, which is what was written, and its SHA-256."""

    content: bytes
    sha256: str


def sidecar(path: Path) -> Path:
    """Where the digest of a file is kept."""
    return path.with_name(path.name + SIDECAR_SUFFIX)


def write_once(path: Path, content: bytes) -> None:
    """Make `path` appear with this content, durably and at once; the same content again changes nothing."""
    if exists(path):
        if read_verified(path) != content:
            raise RunFailed(f"{path} is already there with other content; files of a run are written once")
        return
    digest_line = f"{hashlib.sha256(content).hexdigest()}  {path.name}\n".encode()
    with os_errors_reported(path), _temporary(path, content) as data, _temporary(sidecar(path), digest_line) as digest:
        os.replace(digest, sidecar(path))
        sync_directory(path.parent)
        os.replace(data, path)
        sync_directory(path.parent)


def read_verified(path: Path) -> bytes:
    """The content of a file, or `CorruptData` naming it when it is not what was written."""
    return verified(path).content


def verified(path: Path) -> Verified:
    """The content of a file and its digest, or `CorruptData` naming it when it is not what was written."""
    try:
        with reading(path):
            content = path.read_bytes()
    except FileNotFoundError:
        raise CorruptData(f"{path} is missing") from None
    except OSError:
        raise CorruptData(f"{path} is damaged: something that is not a file has its name") from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != recorded_digest(path):
        raise CorruptData(f"{path} is damaged: its content does not match {sidecar(path).name}")
    return Verified(content, digest)


def recorded_digest(path: Path) -> str:
    """The digest in the sidecar of `path`, or `CorruptData` when the sidecar is missing or is not one."""
    try:
        with reading(sidecar(path)):
            line = sidecar(path).read_bytes()
    except OSError:
        raise CorruptData(f"{path} cannot be verified: {sidecar(path).name} is missing") from None
    match = re.fullmatch(rb"([0-9a-f]{64})  " + re.escape(os.fsencode(path.name)) + rb"\n", line)
    if match is None:
        raise CorruptData(f"{path} cannot be verified: {sidecar(path).name} is damaged")
    return match[1].decode()


def remove(path: Path) -> None:
    """Take a file away, durably, and its sidecar after it; a file that is not there is fine."""
    with os_errors_reported(path):
        for gone in (path, sidecar(path)):
            with suppress(FileNotFoundError):
                gone.unlink()
                sync_directory(path.parent)


def make_directory(path: Path) -> None:
    """Create a directory and its missing parents so that they survive a power cut."""
    with os_errors_reported(path):
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            sync_directory(folder.parent)
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))


def sweep_temporaries(directory: Path) -> None:
    """Remove what a killed writer left behind. Only the holder of the run's lock may do this."""
    with os_errors_reported(directory):
        for litter in directory.glob(f".*{TEMPORARY_SUFFIX}"):
            litter.unlink(missing_ok=True)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable; Windows does this by itself and has no such call."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _temporary(path: Path, content: bytes) -> Iterator[Path]:
    """The content on disk under a name that no reader looks at, in the same directory so that a rename is atomic."""
    temporary = path.with_name(f".{path.name}{TEMPORARY_SUFFIX}")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
