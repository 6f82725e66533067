"""What every reading of a trajectory returns: its stages, each with a label and a score, and what it could not read."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Stage:
    """A stretch of the run in which one thing holds; `score` in [0, 1] says how well, in the reading's own terms."""

    start: float
    end: float
    label: str
    score: float


@dataclass(frozen=True)
class Reading:
    """Stages in time order (none where the reading was not possible) and one sentence for each thing to know."""

    stages: tuple[Stage, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def boundaries(self) -> tuple[float, ...]:
        """Where one stage gives way to the next."""
        return tuple(stage.start for stage in self.stages[1:])


def unreadable(note: str) -> Reading:
    """A reading that was not possible, and why."""
    return Reading(stages=(), notes=(note,))
