"""Everything that is wrong in one run: each file by itself, with the others, and with the name of the directory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headwise.core.errors import CorruptData
from headwise.core.system_errors import exists
from headwise.store.files import verified
from headwise.store.links import Link
from headwise.store.listed_files import listing_faults

if TYPE_CHECKING:
    from headwise.store.run_directory import RunDirectory


@dataclass(frozen=True)
class Fault:
    """A file, or a run's directory, and what is wrong with it."""

    file: Path
    problem: str

    def __str__(self) -> str:
        return f"{self.file} {self.problem}"


def run_faults(run: RunDirectory) -> Iterator[Fault]:
    """Every fault of a run, one for each file; nothing for a run that is whole as far as it goes."""
    seen: set[Path] = set()
    for fault in _all_faults(run):
        if fault.file not in seen:
            seen.add(fault.file)
            yield fault


def _all_faults(run: RunDirectory) -> Iterator[Fault]:
    files = run.data_files()
    over = exists(run.manifest_path)
    if not files and not over:
        return
    try:
        header = run.beginning.header_of_any_name()
    except CorruptData as error:
        # Without it nothing says which run the other files belong to; each can still be held against its digest.
        yield _fault(run.coordinates_path, error)
        yield from _digest_faults([*files, *([run.manifest_path] if over else [])])
        return
    if over or files != [run.coordinates_path]:
        try:
            run.beginning.config(header)
            run.beginning.require_name(header, run.beginning.identity(header))
        except CorruptData as error:
            yield _fault(run.path if str(error).startswith(f"{run.path} ") else run.config_path, error)
    yield from _record_faults(run)
    if over:
        try:
            manifest = run.manifest_of_any_name()
        except CorruptData as error:
            yield _fault(run.manifest_path, error)
        else:
            for path, problem in listing_faults(run.path, manifest, files):
                yield Fault(path, problem)


def _record_faults(run: RunDirectory) -> Iterator[Fault]:
    """Checkpoints, segments in their order, and whether the segments are those that the checkpoints name.

    Checkpoints come first: a writer adds what they name before them, and may drop old ones at any time.
    """
    links: list[tuple[Path, dict[str, Link | None]]] = []
    for step in run.checkpoints.steps():
        path = run.checkpoints.path(step)
        try:
            links.append((path, run.checkpoints.read(step).histories))
        except CorruptData as error:
            if exists(path):
                yield _fault(path, error)
    for chain in (run.metrics, run.snapshots):
        there: dict[int, str | None] = {}
        for segment in chain.inspect():
            there[segment.end] = segment.sha256
            if segment.fault is not None:
                yield _fault(chain.path(segment.end), segment.fault)
        for path, histories in links:
            link = histories[chain.kind]
            if link is not None and link.end not in there:
                yield Fault(chain.path(link.end), f"is missing, though {path.name} names it")
            elif link is not None and link.sha256 is not None and there[link.end] not in (None, link.sha256):
                yield Fault(chain.path(link.end), f"is not the one that {path.name} was written with")


def _digest_faults(files: list[Path]) -> Iterator[Fault]:
    for path in files:
        try:
            verified(path)
        except CorruptData as error:
            yield _fault(path, error)


def _fault(path: Path, error: CorruptData) -> Fault:
    return Fault(path, str(error).removeprefix(f"{path} "))
