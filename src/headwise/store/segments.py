"""A history that grows by write-once segments, one per checkpoint interval, each naming the one before it.

A growing file would be unreadable after a crash; a segment is either there and whole, or not there. Because every
segment names its predecessor and the digest of its bytes, one that went missing or was exchanged is noticed, not only
one that was damaged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headwise.core.errors import CorruptData
from headwise.core.system_errors import names_in
from headwise.store.files import remove, verified, write_once
from headwise.store.histories import Codec, History, checked_history, joined, signature
from headwise.store.links import Link, decode_link, encode_link, link_to, marked, require_member

UNREADABLE = (ValueError, KeyError, TypeError)
"""What decoding raises when bytes are not what a file of a run holds."""


@dataclass(frozen=True)
class ReadSegment:
    """A segment on disk: its content and digest, or what is wrong with it."""

    end: int
    history: History | None = None
    sha256: str | None = None
    fault: CorruptData | None = None


class SegmentChain:
    """All segments of one kind in a run directory; `<kind>-<until><suffix>` covers the steps up to `until`.

    `identity` gives what every file of the run carries, `None` in format 1; it is asked only when there are segments.
    """

    def __init__(self, directory: Path, *, kind: str, codec: Codec, identity: Callable[[], str | None]) -> None:
        self.directory = directory
        self.kind = kind
        self.codec = codec
        self.identity = identity

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
        history = checked_history(steps, variables, until=until)
        if not len(history.steps):
            return
        ends = self.ends()
        if ends and ends[-1] > until:
            raise ValueError(f"{self.kind} go on to step {ends[-1]}; discard what comes after a step before writing it")
        previous = self.newest(until - 1)
        if previous is not None and history.steps[0] <= previous.end:
            raise ValueError(f"step {history.steps[0]} is covered by the segment of {self.kind} up to {previous.end}")
        write_once(self.path(until), self.codec.encode(history, self._metadata(until, previous)))

    def newest(self, step: int) -> Link | None:
        """The last segment that ends at `step` or before."""
        ends = [end for end in self.ends() if end <= step]
        return link_to(ends[-1], self.path(ends[-1]), identity=self.identity()) if ends else None

    def read(self, *, reach: Link | None = None) -> History:
        """Every segment, verified and joined; `CorruptData` when one is damaged, missing or not of this run.

        `reach` is the segment that a checkpoint names: without it the history would be cut short.
        """
        parts: list[History] = []
        good: dict[int, str] = {}
        for segment in self.inspect():
            if segment.fault is not None:
                raise segment.fault
            assert segment.history is not None
            assert segment.sha256 is not None
            parts.append(segment.history)
            good[segment.end] = segment.sha256
        self.require_whole(reach, good=good)
        return joined(parts)

    def require_whole(self, link: Link | None, *, good: Mapping[int, str], fault: CorruptData | None = None) -> None:
        """`CorruptData` unless the segment that a checkpoint names is there, undamaged, with all before it."""
        if link is None:
            return
        if link.end not in good:
            raise fault if fault is not None else CorruptData(f"{self.path(link.end)} is missing")
        if link.sha256 is not None and link.sha256 != good[link.end]:
            raise CorruptData(f"{self.path(link.end)} is not the one that the checkpoint after it was written with")

    def inspect(self) -> Iterator[ReadSegment]:
        """Every segment that is there, in order, each checked by itself and against the one before it."""
        ends = self.ends()
        identity = self.identity() if ends else None
        before: ReadSegment | None = None
        sound: History | None = None
        for end in ends:
            before = self._read(end, before, sound, identity=identity)
            sound = before.history or sound
            yield before

    def intact(self) -> tuple[dict[int, str], CorruptData | None]:
        """The undamaged segments before the first fault, their digests by their ends, and that fault."""
        good: dict[int, str] = {}
        for segment in self.inspect():
            if segment.sha256 is None:
                return good, segment.fault
            good[segment.end] = segment.sha256
        return good, None

    def intact_ends(self) -> tuple[list[int], CorruptData | None]:
        """The ends of the undamaged segments before the first fault, and that fault."""
        good, fault = self.intact()
        return list(good), fault

    def reaches(self, step: int) -> bool:
        """Whether the segment of this step can be read, belongs to this run and ends there."""
        try:
            content = verified(self.path(step)).content
            self._decode(content, step, identity=self.identity())
        except (CorruptData, *UNREADABLE):
            return False
        return True

    def discard_after(self, step: int) -> None:
        """Drop the segments that end after `step`, newest first, so that what is left is whole at any moment."""
        for end in reversed(self.ends()):
            if end > step:
                remove(self.path(end))

    def _metadata(self, until: int, previous: Link | None) -> dict[str, object]:
        identity = self.identity()
        names = {"previous": encode_link(previous)}
        return marked(names if identity is None else {**names, "until": until}, identity=identity)

    def _read(
        self, end: int, before: ReadSegment | None, sound: History | None, *, identity: str | None
    ) -> ReadSegment:
        path = self.path(end)
        try:
            file = verified(path)
            history, previous = self._decode(file.content, end, identity=identity)
            self._require_follows(path, previous, before)
            _require_continues(history, sound)
        except CorruptData as fault:
            return ReadSegment(end, fault=fault)
        except UNREADABLE as error:
            return ReadSegment(end, fault=CorruptData(f"{path} is damaged: {error}".replace("\n", " ")))
        return ReadSegment(end, history, file.sha256)

    def _decode(self, content: bytes, end: int, *, identity: str | None) -> tuple[History, Link | None]:
        history, metadata = self.codec.decode(content)
        require_member(metadata, identity=identity)
        if identity is not None and metadata["until"] != end:
            raise ValueError(f"it is the segment up to step {metadata['until']}")
        return history, decode_link(metadata["previous"], identity=identity)

    def _require_follows(self, path: Path, previous: Link | None, before: ReadSegment | None) -> None:
        """What a segment names must be what lies before it; a damaged one before it is reported by itself."""
        if (previous.end if previous else None) != (before.end if before else None):
            missing = self.path(previous.end).name if previous else "nothing"
            raise CorruptData(f"{path} follows {missing}, which is not what is there before it")
        named, found = previous.sha256 if previous else None, before.sha256 if before else None
        if previous is not None and None not in (named, found) and named != found:
            raise CorruptData(f"{self.path(previous.end)} is not the one that {path.name} was written after")


def _require_continues(history: History, sound: History | None) -> None:
    steps = history.steps if sound is None or not len(sound.steps) else np.append(sound.steps[-1], history.steps)
    if np.any(steps[1:] <= steps[:-1]):
        twice = steps[1:][steps[1:] <= steps[:-1]][0]
        raise ValueError(f"it holds step {twice} twice or out of order")
    if sound is not None and signature(history) != signature(sound):
        raise ValueError("it holds other variables or shapes than the segments before it")


def numbered(directory: Path, *, kind: str, suffix: str) -> list[int]:
    """The numbers of the files `<kind>-<number><suffix>` of a directory, ascending."""
    pattern = re.compile(re.escape(kind) + r"-([0-9]{8}|[1-9][0-9]{8,})" + re.escape(suffix))
    return sorted(int(match[1]) for name in names_in(directory) if (match := pattern.fullmatch(name)))
