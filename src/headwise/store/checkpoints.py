"""Checkpoints: what a run resumes from. Arrays (weights, optimiser, generators) and a state of plain values.

A checkpoint remembers the newest segments that were there when it was written, so a run is resumed only from a point up
to which every measurement is whole. It holds no times: the same run gives the same bytes.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from headwise.core.errors import CorruptData
from headwise.store.files import read_verified, remove, write_once
from headwise.store.segments import SegmentChain, numbered
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


class Checkpoints:
    """The checkpoints of one run directory and the histories that must reach as far as they do."""

    def __init__(self, directory: Path, *, histories: Sequence[SegmentChain]) -> None:
        self.directory = directory
        self.histories = histories

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
        reach = {
            chain.kind: max((end for end in chain.ends() if end <= step), default=None) for chain in self.histories
        }
        metadata = {"step": step, "state": dict(state), "histories": reach}
        write_once(self.path(step), encode_tensors(arrays, metadata=metadata))

    def latest(self, *, on_damage: OnDamage) -> Checkpoint | None:
        """The newest checkpoint whose run is whole up to it; `None` when a run must begin at the beginning."""
        intact = [(chain, *chain.intact_ends()) for chain in self.histories]
        for step in reversed(self.steps()):
            try:
                checkpoint, reach = self._read(step)
                for chain, good, fault in intact:
                    _require_whole(chain, reach[chain.kind], good=good, fault=fault)
            except CorruptData as error:
                if on_damage == "refuse":
                    raise CorruptData(f"{error}; --recover resumes from the newest undamaged checkpoint") from error
            else:
                return checkpoint
        return None

    def verify(self) -> None:
        """Read every checkpoint; `CorruptData` names the first that is damaged."""
        for step in self.steps():
            self._read(step)

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

    def _read(self, step: int) -> tuple[Checkpoint, dict[str, int | None]]:
        path = self.path(step)
        try:
            arrays, metadata = decode_tensors(read_verified(path))
            if metadata["step"] != step:
                raise ValueError(f"it is the checkpoint of step {metadata['step']}")
            return Checkpoint(step, arrays, metadata["state"]), metadata["histories"]
        except (ValueError, KeyError) as error:
            raise CorruptData(f"{path} is damaged: {error}".replace("\n", " ")) from error


def _require_whole(chain: SegmentChain, end: int | None, *, good: Sequence[int], fault: CorruptData | None) -> None:
    if end is not None and end not in good:
        raise fault if fault is not None else CorruptData(f"{chain.path(end)} is missing")
