"""What the records of a probe were taken from: digests of every checkpoint's content and of the tokens shown.

They are kept in the checkpoints of the probe's own run, which say how far it is. A folder whose weights were replaced
is then noticed, and so are checkpoints that hold the same weights under different names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headwise.core.errors import CorruptData
from headwise.probe.checkpoints import StoredModel
from headwise.store import RunDirectory
from headwise.store.cures import to_be_removed

ATTRIBUTE = "identified"
"""Set in runs all of whose records have digests; runs of earlier versions have none for their first ones."""


@dataclass(frozen=True)
class LookedAt:
    """The steps whose records are whole, and the digests of what was looked at, by step."""

    steps: list[int] = field(default_factory=list)
    content: dict[int, dict[str, str]] = field(default_factory=dict)
    tokens: str | None = None

    @property
    def last(self) -> int:
        """The step up to which everything was looked at; -1 before the first."""
        return self.steps[-1] if self.steps else -1

    def first(self) -> dict[str, Any]:
        """What the first record was taken from: its step, the digests of the checkpoint, and that of the tokens."""
        step = self.steps[0]
        return {"step": step, **self.content.get(step, {}), "tokens": self.tokens}

    def equal_weights(self) -> list[list[int]]:
        """Groups of steps whose weights are the same in every bit."""
        by_weights: dict[str, list[int]] = {}
        for step in sorted(self.content):
            by_weights.setdefault(self.content[step]["weights"], []).append(step)
        return [steps for steps in by_weights.values() if len(steps) > 1]

    def require_same(self, stored: StoredModel, content: Mapping[str, str], *, run: RunDirectory) -> None:
        """`CorruptData` when the checkpoint is not the one that was looked at."""
        known = self.content.get(stored.step)
        for part, name in (("weights", "weights"), ("config", "settings in config.json")):
            if known is not None and known[part] != content[part]:
                raise CorruptData(
                    f"{stored.path} has other {name} than when it was probed, so the records in {run.path} are not "
                    "of this checkpoint; put it back, or remove that run to probe the folder anew"
                )

    def with_record(self, step: int, *, content: Mapping[str, str], tokens: str) -> LookedAt:
        """What is known once this checkpoint was looked at too."""
        return LookedAt([*self.steps, step], {**self.content, step: dict(content)}, tokens)


def tokens_digest(tokens: np.ndarray) -> str:
    """SHA-256 of token ids and their shape."""
    ids = np.ascontiguousarray(tokens, dtype="<i8")
    return hashlib.sha256(f"{ids.shape}".encode() + ids.tobytes()).hexdigest()


def read_looked_at(run: RunDirectory) -> LookedAt:
    """What a run holds so far; `CorruptData` when part of it is damaged."""
    steps, fault = run.metrics.intact_ends()
    try:
        if fault is not None:
            raise fault
        checkpoint = run.latest_checkpoint()
        identified = run.coordinates_path.exists() and run.read_coordinates()[1].get(ATTRIBUTE)
    except CorruptData as error:
        raise to_be_removed(error, run.path, then="probe the folder anew") from error
    state: dict[str, Any] = {} if checkpoint is None else checkpoint.state
    content = {int(step): digests for step, digests in state.get("looked_at", {}).items()}
    # A record is written before its digests; one that was left without them by a crash is taken again.
    whole = [step for step in steps if step in content] if identified else steps
    return LookedAt(whole, {step: content[step] for step in whole if step in content}, state.get("tokens"))


def write_looked_at(run: RunDirectory, looked_at: LookedAt) -> None:
    """Keep this for the next call, after the record of the last step."""
    content = {str(step): digests for step, digests in looked_at.content.items()}
    run.write_checkpoint(looked_at.last, arrays={}, state={"looked_at": content, "tokens": looked_at.tokens})
    run.prune_checkpoints(keep_last=2)
