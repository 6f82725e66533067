"""What a file system may leave after a crash, from a record of what a program asked of it.

The rules are those of POSIX as the store relies on them. A name (created, renamed, removed, a new folder) is durable
once its folder was synced after it; until then each such change may have happened or not, in any subset. A rename
happens wholly or not at all. Content is durable once the file was synced after it was written; until then any part of
it may be there: nothing, a beginning, or the whole length with blocks of zeros.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from unittest import mock

Content = bytes
Tree = dict[str, Content | None]
"""Files by their place, with `None` for a folder."""

MOST_SUBSETS = 64


@dataclass(frozen=True)
class Step:
    """One thing asked of the file system. `file` is a number for the file itself, whatever its name is."""

    kind: Literal["create", "write", "sync", "sync_folder", "rename", "unlink", "mkdir"]
    path: str
    file: int = -1
    to: str = ""
    content: Content = b""


@dataclass
class Record:
    """Everything that was asked, in order, and what had been promised after which step."""

    start: Tree
    steps: list[Step] = field(default_factory=list)
    promises: list[tuple[int, str]] = field(default_factory=list)

    def promise(self, what: str) -> None:
        """From here on, whatever happens, `what` must hold."""
        self.promises.append((len(self.steps), what))

    def promised(self, after: int) -> set[str]:
        return {what for step, what in self.promises if step <= after}


class _Recorder:
    """Watches one folder: calls that order things are intercepted, everything else is seen by comparing."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.names: dict[str, int | None] = {}
        self.contents: dict[int, Content] = {}
        self.numbers = itertools.count()
        self.record = Record(read_tree(root))
        for path, content in self.record.start.items():
            self.names[path] = None
            if content is not None:
                self.names[path] = number = next(self.numbers)
                self.contents[number] = content

    def compare(self) -> None:
        """Record what has changed since the last look: names that came or went, and content."""
        tree = read_tree(self.root)
        for path in sorted(self.names.keys() - tree.keys(), reverse=True):
            self.add(Step("unlink", path, file=self._number(path)))
            del self.names[path]
        for path, content in sorted(tree.items()):
            if path not in self.names:
                if content is None:
                    self.names[path] = None
                    self.add(Step("mkdir", path))
                    continue
                number = next(self.numbers)
                self.names[path], self.contents[number] = number, b""
                self.add(Step("create", path, file=number))
            number = self._number(path)
            if content is not None and self.contents[number] != content:
                self.contents[number] = content
                self.add(Step("write", path, file=number, content=content))

    def add(self, step: Step) -> None:
        self.record.steps.append(step)

    def place(self, path: Any) -> str | None:
        """Where a path lies below the root; `None` outside."""
        try:
            return os.path.relpath(os.path.abspath(os.fsdecode(path)), self.root) if self._inside(path) else None
        except TypeError:
            return None

    def synced(self, descriptor: int) -> None:
        about = os.fstat(descriptor)
        for path, number in self.names.items():
            try:
                here = os.lstat(self.root / path)
            except FileNotFoundError:
                continue
            if (here.st_dev, here.st_ino) == (about.st_dev, about.st_ino):
                folder = stat.S_ISDIR(about.st_mode)
                self.add(Step("sync_folder", path) if folder else Step("sync", path, file=number or 0))
                return
        root = os.stat(self.root)
        if (root.st_dev, root.st_ino) == (about.st_dev, about.st_ino):
            self.add(Step("sync_folder", "."))

    def renamed(self, source: str, target: str) -> None:
        number = self.names.pop(source)
        self.names[target] = number
        self.add(Step("rename", source, file=-1 if number is None else number, to=target))

    def _inside(self, path: Any) -> bool:
        return os.path.abspath(os.fsdecode(path)).startswith(str(self.root) + os.sep)

    def _number(self, path: str) -> int:
        number = self.names[path]
        return -1 if number is None else number


@contextmanager
def recording(root: Path) -> Iterator[Record]:
    """Record what this process does below `root` in the block."""
    recorder = _Recorder(root)
    real_sync, real_replace, real_unlink = os.fsync, os.replace, os.unlink

    def sync(descriptor: Any) -> None:
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        recorder.compare()
        real_sync(number)
        recorder.synced(number)

    def replace(source: Any, target: Any, **options: Any) -> None:
        recorder.compare()
        real_replace(source, target, **options)
        places = recorder.place(source), recorder.place(target)
        if places[0] is not None and places[1] is not None:
            recorder.renamed(places[0], places[1])
        recorder.compare()

    def unlink(path: Any, **options: Any) -> None:
        recorder.compare()
        real_unlink(path, **options)
        recorder.compare()

    def around(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            recorder.compare()
            answer = real(*arguments, **options)
            recorder.compare()
            return answer

        return call

    with (
        mock.patch("os.fsync", sync),
        mock.patch("os.replace", replace),
        mock.patch("os.rename", replace),
        mock.patch("os.unlink", unlink),
        mock.patch("os.remove", unlink),
        mock.patch("os.mkdir", around(os.mkdir)),
        mock.patch("os.rmdir", around(os.rmdir)),
    ):
        try:
            yield recorder.record
        finally:
            recorder.compare()


def read_tree(root: Path) -> Tree:
    """Everything below a folder."""
    tree: Tree = {}
    for folder, folders, files in os.walk(root):
        for name in folders:
            tree[os.path.relpath(os.path.join(folder, name), root)] = None
        for name in files:
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as file:
                    tree[os.path.relpath(path, root)] = file.read()
            except FileNotFoundError:
                continue
    return tree


def write_tree(root: Path, tree: Tree) -> None:
    """The inverse of `read_tree`, into a new folder."""
    root.mkdir(parents=True)
    for path, content in sorted(tree.items()):
        if content is None:
            (root / path).mkdir(parents=True, exist_ok=True)
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)


def tree_digest(tree: Tree) -> bytes:
    """Equal for equal trees."""
    digest = hashlib.sha256()
    for path, content in sorted(tree.items()):
        digest.update(path.encode() + b"\0" + (b"d" if content is None else b"f" + hashlib.sha256(content).digest()))
    return digest.digest()


class _Disk:
    """What is durable, and what was asked since."""

    def __init__(self, start: Tree) -> None:
        self.names: dict[str, int | None] = {}
        self.durable: dict[int, Content] = {}
        self.present: dict[int, Content] = {}
        self.pending: list[Step] = []
        numbers = itertools.count()  # as the recorder counts them
        for path, content in start.items():
            self.names[path] = None
            if content is not None:
                self.names[path] = number = next(numbers)
                self.durable[number] = self.present[number] = content

    def apply(self, step: Step) -> None:
        if step.kind == "write":
            self.present[step.file] = step.content
        elif step.kind == "sync":
            self.durable[step.file] = self.present[step.file]
        elif step.kind == "sync_folder":
            for waiting in self.pending:
                if _folder(waiting) == step.path:
                    _change(self.names, waiting)
            self.pending = [waiting for waiting in self.pending if _folder(waiting) != step.path]
        else:
            if step.kind == "create":
                self.durable[step.file] = self.present[step.file] = b""
            self.pending.append(step)

    def subsets(self, rng: random.Random) -> Iterator[list[Step]]:
        """Every subset of the changes of names that are not durable, or many where there are too many."""
        count = len(self.pending)
        if 2**count <= MOST_SUBSETS:
            masks: Iterator[int] = iter(range(2**count))
        else:
            whole = 2**count - 1
            ends = [(1 << size) - 1 for size in range(count + 1)]
            drawn = [rng.randrange(2**count) for _ in range(MOST_SUBSETS - count)]
            masks = iter([*ends, *(whole ^ (1 << one) for one in range(count)), *drawn])
        for mask in masks:
            yield [step for place, step in enumerate(self.pending) if mask >> place & 1]

    def trees(self, chosen: list[Step], rng: random.Random, torn: int) -> Iterator[Tree]:
        """The trees that these changes of names may leave: unsynced content in several conditions."""
        names = dict(self.names)
        for step in chosen:
            _change(names, step)
        reached = {path: file for path, file in names.items() if _has_parents(path, names)}
        unsynced = [file for file in reached.values() if file is not None and self.durable[file] != self.present[file]]
        for _ in range(torn if unsynced else 1):
            content = {file: _torn(self.durable[file], self.present[file], rng) for file in unsynced}
            yield {
                path: None if file is None else content.get(file, self.present[file]) for path, file in reached.items()
            }


def crash_states(record: Record, *, seed: int, torn: int = 4) -> Iterator[tuple[int, Tree]]:
    """Every state that a crash may leave, with the number of steps done before it; each tree once."""
    rng = random.Random(seed)
    disk = _Disk(record.start)
    seen: set[bytes] = set()
    for done in range(len(record.steps) + 1):
        if done:
            disk.apply(record.steps[done - 1])
        for chosen in disk.subsets(rng):
            for tree in disk.trees(chosen, rng, torn):
                digest = tree_digest(tree) + bytes(str(sorted(record.promised(done))), "utf-8")
                if digest not in seen:
                    seen.add(digest)
                    yield done, tree


def _folder(step: Step) -> str:
    return os.path.dirname(step.path) or "."


def _change(names: dict[str, int | None], step: Step) -> None:
    file = None if step.file < 0 else step.file
    if step.kind == "mkdir":
        names[step.path] = None
    elif step.kind == "create":
        names[step.path] = file
    elif step.kind == "unlink":
        if step.path in names and names[step.path] == file:
            del names[step.path]
    else:
        if step.path in names and names[step.path] == file:
            del names[step.path]
        names[step.to] = file


def _has_parents(path: str, names: dict[str, int | None]) -> bool:
    parent = os.path.dirname(path)
    while parent:
        if parent not in names:
            return False
        parent = os.path.dirname(parent)
    return True


def _torn(durable: Content, present: Content, rng: random.Random) -> Content:
    kind = rng.randrange(5)
    if kind == 0:
        return durable
    if kind == 1:
        return present
    if kind == 2:
        return present[: rng.randrange(len(present) + 1)]
    if kind == 3:
        return bytes(len(present))
    damaged = bytearray(present)
    start = rng.randrange(len(damaged) + 1)
    damaged[start : start + 512] = bytes(len(damaged[start : start + 512]))
    return bytes(damaged)
