"""The detector's three views of a trajectory, and what each of them gives: stages, each with a label and a score.

*function* looks at the distances to known predictors, *loss* at the excess loss, *heads* at the patterns that heads
copy. No view knows of the others; `agreement` compares them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from headwise.phases.undecided import Undecided

ViewName = Literal["function", "loss", "heads"]
VIEWS: tuple[ViewName, ...] = get_args(ViewName)


@dataclass(frozen=True)
class Stage:
    """A stretch of the run in which one thing holds; `score` in [0, 1] says how well, in the view's own terms.

    `interval` is the time that its beginning takes: from 20 to 80 % of the change that it begins with.
    """

    start: float
    end: float
    label: str
    score: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class View:
    """Stages in time order, one sentence for each thing to know, and what cannot be told.

    No stages means that none were found where the view is `possible`, and that nobody could look where it is not.
    """

    stages: tuple[Stage, ...] = ()
    notes: tuple[str, ...] = field(default=())
    possible: bool = True
    undecided: tuple[Undecided, ...] = field(default=(), kw_only=True)

    @property
    def boundaries(self) -> tuple[float, ...]:
        """Where one stage gives way to the next."""
        return tuple(stage.start for stage in self.stages[1:])


def unreadable(note: str) -> View:
    """A view that was not possible, and why."""
    return View(stages=(), notes=(note,), possible=False)
