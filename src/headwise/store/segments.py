"""A history that grows by write-once segments, one per checkpoint interval, each naming the one before it.

A growing file would be unreadable after a crash; a segment is either there and whole, or not there. Because every
segment names its predecessor, a segment that went missing is noticed, not only one that was damaged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from headwise.core.errors import CorruptData
from headwise.store.files import read_verified, remove, write_once
from headwise.store.tables import decode_table, encode_table
from headwise.store.tensors import decode_tensors, encode_tensors

SNAPSHOT_STEPS = "snapshot"


@dataclass(frozen=True)
class History:
    """Steps in increasing order and, by name, arrays that have these steps as their first axis."""

    steps: np.ndarray
    variables: dict[str, np.ndarray]


@dataclass(frozen=True)
class Segment:
    """The part of a history after segment `previous` (`None`: from the start)."""

    history: History
    previous: int | None


class Codec(Protocol):
    """How a segment lies on disk."""

    suffix: str

    def encode(self, segment: Segment) -> bytes:
        """The same bytes for the same segment."""
        ...

    def decode(self, content: bytes) -> Segment:
        """The inverse of `encode`; ValueError when this is something else."""
        ...


class ParquetSegments:
    """Metrics: many small variables, readable by any Parquet tool."""

    suffix = ".parquet"

    def encode(self, segment: Segment) -> bytes:
        history = segment.history
        return encode_table(history.steps, history.variables, metadata={"previous": segment.previous})

    def decode(self, content: bytes) -> Segment:
        steps, variables, metadata = decode_table(content)
        return Segment(History(steps, variables), metadata["previous"])


class SafetensorsSegments:
    """Snapshots: few large arrays, such as attention maps."""

    suffix = ".safetensors"

    def encode(self, segment: Segment) -> bytes:
        arrays = {SNAPSHOT_STEPS: segment.history.steps, **segment.history.variables}
        return encode_tensors(arrays, metadata={"previous": segment.previous})

    def decode(self, content: bytes) -> Segment:
        arrays, metadata = decode_tensors(content)
        return Segment(History(arrays.pop(SNAPSHOT_STEPS), arrays), metadata["previous"])


class SegmentChain:
    """All segments of one kind in a run directory; `<kind>-<until><suffix>` covers the steps up to `until`."""

    def __init__(self, directory: Path, *, kind: str, codec: Codec) -> None:
        self.directory = directory
        self.kind = kind
        self.codec = codec

    def path(self, until: int) -> Path:
        """Where the segment that ends at step `until` is kept."""
        return self.directory / f"{self.kind}-{until:08d}{self.codec.suffix}"

    def ends(self) -> list[int]:
        """The last step of every segment that is there, in order."""
        return numbered(self.directory, kind=self.kind, suffix=self.codec.suffix)

    def write(self, until: int, *, steps: np.ndarray, variables: Mapping[str, np.ndarray]) -> None:
        """Add the segment that ends at `until`; an interval in which nothing was measured leaves none.

        Steps that are covered already, or not in order, are a mistake of the caller: ValueError.
        """
        history = _checked_history(steps, variables, until=until)
        if not len(history.steps):
            return
        ends = self.ends()
        if ends and ends[-1] > until:
            raise ValueError(f"{self.kind} go on to step {ends[-1]}; discard what comes after a step before writing it")
        previous = max((end for end in ends if end < until), default=None)
        if previous is not None and history.steps[0] <= previous:
            raise ValueError(f"step {history.steps[0]} is covered by the segment of {self.kind} up to {previous}")
        write_once(self.path(until), self.codec.encode(Segment(history, previous)))

    def read(self) -> History:
        """Every segment, verified and joined; `CorruptData` when one is damaged or missing, or a step comes twice."""
        parts: list[History] = []
        previous: int | None = None
        for end in self.ends():
            parts.append(self._read_after(previous, end))
            if _signature(parts[-1]) != _signature(parts[0]):
                raise CorruptData(f"{self.path(end)} holds other variables or shapes than the segments before it")
            previous = end
        if not parts:
            return History(np.zeros(0, np.int64), {})
        steps = np.concatenate([part.steps for part in parts])
        if np.any(steps[1:] <= steps[:-1]):
            twice = steps[1:][steps[1:] <= steps[:-1]][0]
            raise CorruptData(f"{self.directory}: {self.kind} hold step {twice} twice or out of order")
        names = parts[0].variables
        return History(steps, {name: np.concatenate([part.variables[name] for part in parts]) for name in names})

    def intact_ends(self) -> tuple[list[int], CorruptData | None]:
        """The ends of the undamaged segments before the first fault, and that fault."""
        good: list[int] = []
        for end in self.ends():
            try:
                self._read_after(good[-1] if good else None, end)
            except CorruptData as error:
                return good, error
            good.append(end)
        return good, None

    def discard_after(self, step: int) -> None:
        """Drop the segments that end after `step`, newest first, so that what is left is whole at any moment."""
        for end in reversed(self.ends()):
            if end > step:
                remove(self.path(end))

    def _read_after(self, previous: int | None, end: int) -> History:
        path = self.path(end)
        try:
            segment = self.codec.decode(read_verified(path))
        except (ValueError, KeyError) as error:
            raise CorruptData(f"{path} is damaged: {error}".replace("\n", " ")) from error
        if segment.previous != previous:
            missing = self.path(segment.previous).name if segment.previous is not None else "nothing"
            raise CorruptData(f"{path} follows {missing}, which is not what is there before it")
        return segment.history


def numbered(directory: Path, *, kind: str, suffix: str) -> list[int]:
    """The numbers of the files `<kind>-<number><suffix>` of a directory, ascending."""
    pattern = re.compile(re.escape(kind) + r"-(\d{8}|[1-9]\d{8,})" + re.escape(suffix))
    if not directory.is_dir():
        return []
    return sorted(int(match[1]) for entry in directory.iterdir() if (match := pattern.fullmatch(entry.name)))


def _checked_history(steps: np.ndarray, variables: Mapping[str, np.ndarray], *, until: int) -> History:
    """Steps as int64, or float64 where they are times; copies nothing that is in order already."""
    if until < 0:
        raise ValueError(f"a segment ends at step 0 or later, not {until}")
    steps = np.asarray(steps)
    steps = steps.astype(np.float64 if steps.dtype.kind == "f" else np.int64)
    if steps.ndim != 1 or not np.all(np.isfinite(steps)) or np.any(steps[1:] <= steps[:-1]):
        raise ValueError("steps must be one row of finite, strictly increasing numbers")
    if len(steps) and (steps[0] < 0 or steps[-1] > until):
        raise ValueError(f"steps {steps[0]} to {steps[-1]} do not lie between 0 and the segment's end {until}")
    arrays = {name: np.asarray(values) for name, values in variables.items()}
    for name, values in arrays.items():
        if name in ("step", SNAPSHOT_STEPS):
            raise ValueError(f"{name!r} is the name of the steps; call the variable otherwise")
        if values.ndim == 0 or len(values) != len(steps):
            raise ValueError(f"{name} has shape {values.shape}, its first axis must be the {len(steps)} steps")
    return History(steps, arrays)


def _signature(history: History) -> dict[str, tuple[tuple[int, ...], str]]:
    """What every segment of a history must share."""
    described = {name: (values.shape[1:], values.dtype.name) for name, values in history.variables.items()}
    return {"step": ((), history.steps.dtype.name), **described}
