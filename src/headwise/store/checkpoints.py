"""Checkpoints: what a run resumes from. Arrays (weights, optimiser, generators) and a state of plain values.

A checkpoint names the newest segments that were there when it was written, so a run is resumed only from a point up to
which every measurement is whole. Checkpoints do not name each other, because old ones are dropped. They hold no times:
the same run gives the same bytes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from headwise.core.errors import CorruptData
from headwise.store.files import read_verified, remove, write_once
from headwise.store.links import Link, decode_link, encode_link, marked, require_member
from headwise.store.segments import UNREADABLE, SegmentChain, numbered
from headwise.store.tensors import decode_tensors, encode_tensors

OnDamage = Literal["refuse", "recover"]
"""What to do about a damaged file: stop and name it, or go back to the newest point that is whole."""

KIND, SUFFIX = "checkpoint", ".safetensors"


@dataclass(frozen=True)
class Checkpoint:
    """The complete state of a run after `step` steps."""

    step: int
    arrays: dict[str, np.ndarray]
    state: dict[str, Any]
    histories: dict[str, Link | None] = field(default_factory=dict, repr=False)
    """The newest segment of each history when this was written."""


class Checkpoints:
    """The checkpoints of one run directory and the histories that must reach as far as they do."""

    def __init__(
        self, directory: Path, *, histories: Sequence[SegmentChain], identity: Callable[[], str | None]
    ) -> None:
        self.directory = directory
        self.histories = histories
        self.identity = identity

    def path(self, step: int) -> Path:
        """Where the checkpoint of a step is kept."""
        return self.directory / f"{KIND}-{step:08d}{SUFFIX}"

    def steps(self) -> list[int]:
        """The steps of the checkpoints that are there, in order."""
        return numbered(self.directory, kind=KIND, suffix=SUFFIX)

    def write(self, step: int, *, arrays: Mapping[str, np.ndarray], state: Mapping[str, Any]) -> None:
        """Keep the state after `step` steps; the segments up to this step must have been written before."""
        step = operator.index(step)
        if step < 0:
            raise ValueError(f"a checkpoint belongs to step 0 or later, not {step}")
        reach = {chain.kind: encode_link(chain.newest(step)) for chain in self.histories}
        metadata = marked({"step": step, "state": dict(state), "histories": reach}, identity=self.identity())
        write_once(self.path(step), encode_tensors(arrays, metadata=metadata))

    def latest(self, *, on_damage: OnDamage) -> Checkpoint | None:
        """The newest checkpoint whose run is whole up to it; `None` when a run must begin at the beginning."""
        intact = [(chain, *chain.intact()) for chain in self.histories]
        for step in reversed(self.steps()):
            try:
                checkpoint = self.read(step)
                for chain, good, fault in intact:
                    chain.require_whole(checkpoint.histories[chain.kind], good=good, fault=fault)
            except CorruptData as error:
                if on_damage == "refuse":
                    raise CorruptData(f"{error}; --recover resumes from the newest undamaged checkpoint") from error
            else:
                return checkpoint
        return None

    def read(self, step: int) -> Checkpoint:
        """The checkpoint of one step; `CorruptData` when it is damaged, missing or not of this run."""
        path = self.path(step)
        content = read_verified(path)
        try:
            identity = self.identity()
            arrays, metadata = decode_tensors(content)
            require_member(metadata, identity=identity)
            if metadata["step"] != step:
                raise ValueError(f"it is the checkpoint of step {metadata['step']}")
            histories = {
                chain.kind: decode_link(metadata["histories"][chain.kind], identity=identity)
                for chain in self.histories
            }
            return Checkpoint(step, arrays, metadata["state"], histories)
        except UNREADABLE as error:
            raise CorruptData(f"{path} is damaged: {error}".replace("\n", " ")) from error

    def discard_after(self, step: int) -> None:
        """Drop the checkpoints after `step`, newest first."""
        for later in reversed(self.steps()):
            if later > step:
                remove(self.path(later))

    def prune(self, *, keep_every: int | None, keep_last: int) -> None:
        """Drop all but the newest `keep_last` and, if given, those whose step is a multiple of `keep_every`."""
        if keep_last < 1 or (keep_every is not None and keep_every < 1):
            raise ValueError(f"keep at least one checkpoint: keep_every={keep_every}, keep_last={keep_last}")
        for step in self.steps()[:-keep_last]:
            if keep_every is None or step % keep_every:
                remove(self.path(step))
