"""Errors of the machine, one call at a time: the n-th call that touches a folder fails, or everything from it on."""

from __future__ import annotations

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

ERRORS: dict[str, tuple[int, ...]] = {
    "open to write": (errno.EMFILE, errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO, errno.ENOMEM),
    "open to read": (errno.EMFILE, errno.EIO, errno.EACCES, errno.ENOMEM),
    "read": (errno.EIO, errno.ENOMEM),
    "write": (errno.ENOSPC, errno.EIO, 0),
    "fsync": (errno.EIO, errno.ENOSPC),
    "replace": (errno.EIO, errno.ENOSPC, errno.EACCES, errno.EROFS),
    "unlink": (errno.EIO, errno.EACCES, errno.EROFS),
    "mkdir": (errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO),
    "list": (errno.EMFILE, errno.EIO, errno.ENOMEM, errno.EACCES),
    "stat": (errno.EIO, errno.EACCES, errno.ENOMEM),
}
"""What may go wrong with each kind of call; 0 is a write that takes only a part."""


@dataclass
class Injection:
    """Which call fails and how; `at` is counted from 0, and below 0 only counts."""

    root: Path
    at: int = -1
    error: int = 0
    lasting: bool = False
    calls: list[str] = field(default_factory=list)
    short: bool = False

    def touch(self, kind: str, path: Any) -> None:
        """Called before every call; fails the one that was chosen."""
        if not self.concerns(path):
            return
        index = len(self.calls)
        self.calls.append(kind)
        same = self.lasting and 0 <= self.at < index and kind == self.calls[self.at]
        if index != self.at and not same:
            return
        if self.error == 0:
            self.short = True
            return
        if self.error == errno.ENOMEM and kind == "read":
            raise MemoryError
        raise OSError(self.error, os.strerror(self.error), os.fsdecode(path) if not isinstance(path, int) else None)

    def concerns(self, path: Any) -> bool:
        if isinstance(path, int):
            try:
                path = os.readlink(f"/proc/self/fd/{path}")
            except OSError:
                return False
        try:
            return os.path.abspath(os.fsdecode(path)).startswith(str(self.root))
        except TypeError:
            return False


class _File(io.FileIO):
    """A file whose reads and writes may fail."""

    def __init__(self, path: Any, mode: str, injection: Injection) -> None:
        injection.touch("open to read" if mode.startswith("r") and "+" not in mode else "open to write", path)
        super().__init__(path, mode)
        self._injection = injection

    def write(self, data: Any) -> int:
        self._injection.touch("write", self.name)
        if self._injection.short:
            self._injection.short = False
            data = memoryview(data)[: max(1, len(data) // 3)]
        return super().write(data) or 0

    def readinto(self, buffer: Any) -> int:
        self._injection.touch("read", self.name)
        return super().readinto(buffer) or 0

    def readall(self) -> bytes:
        self._injection.touch("read", self.name)
        return super().readall() or b""

    def read(self, size: int | None = -1) -> bytes:
        self._injection.touch("read", self.name)
        return super().read(-1 if size is None else size) or b""


@contextmanager
def injecting(injection: Injection) -> Iterator[Injection]:
    """Intercept every call of this process that touches the injection's folder."""
    real_open = io.open

    def opened(file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **options: Any) -> Any:
        if isinstance(file, int) or not injection.concerns(file) or options.get("opener"):
            return real_open(file, mode, buffering, *rest, **options)
        raw = _File(file, mode.replace("b", "").replace("t", ""), injection)
        if "+" in mode:
            buffered: Any = io.BufferedRandom(raw)
        elif "r" in mode:
            buffered = io.BufferedReader(raw)
        else:
            buffered = io.BufferedWriter(raw)
        if "b" in mode:
            return raw if buffering == 0 else buffered
        names = ("encoding", "errors", "newline")
        return io.TextIOWrapper(buffered, **{**dict(zip(names, rest, strict=False)), **options})

    def around(kind: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any = ".", *rest: Any, **options: Any) -> Any:
            injection.touch(kind, path)
            return real(path, *rest, **options)

        return call

    def os_open(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        injection.touch("open to write" if flags & (os.O_WRONLY | os.O_RDWR) else "open to read", path)
        return int(_real_os_open(path, flags, *rest, **options))

    _real_os_open = os.open
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(builtins, "open", opened))
        stack.enter_context(mock.patch.object(io, "open", opened))
        stack.enter_context(mock.patch.object(os, "open", os_open))
        for kind, names in {
            "fsync": ("fsync",),
            "replace": ("replace", "rename"),
            "unlink": ("unlink", "remove"),
            "mkdir": ("mkdir",),
            "list": ("listdir", "scandir"),
            "stat": ("stat", "lstat"),
        }.items():
            for name in names:
                stack.enter_context(mock.patch.object(os, name, around(kind, getattr(os, name))))
        yield injection
