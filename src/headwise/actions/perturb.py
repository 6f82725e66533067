"""`perturb`: noise on the weights of heads, or a step in a given direction."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field, field_validator

from headwise.actions.action import Action, Part, check_group, check_number
from headwise.actions.patterns import group_pattern, position_entries
from headwise.actions.slices import head_slices
from headwise.core.seeds import Stream, generator

if TYPE_CHECKING:
    from headwise.actions.subject import Subject
    from headwise.model.config import ModelConfig
    from headwise.task.config import TaskConfig


class Perturb(Action):
    """`perturb:heads=2:size=0.001`, `perturb:heads=1:size=0.1:along=group2`, once at the step of the branch

    - weights: normal noise of deviation `size` on each; with `along` a step of length `size` instead: `head3` towards
      the weights of head 3, `group2` towards attention to group 2 (in the scores between positions)
    - moments, gradient, weight decay and clipping: as always
    - `draw` chooses the noise; it also depends on the run's seed and on the step
    """

    name: ClassVar[str] = "perturb"

    size: Annotated[float, Field(gt=0)]
    along: str | None = None
    part: Part = "all"
    draw: Annotated[int, Field(ge=0)] = 0

    @field_validator("along")
    @classmethod
    def _known_direction(cls, value: str | None) -> str | None:
        if value is not None and re.fullmatch(r"(head|group)[1-9]\d{0,5}", value) is None:
            raise ValueError(f"along = {value} must be a head or a group, such as head3 or group2")
        return value

    def check(self, model: ModelConfig, task: TaskConfig) -> None:
        super().check(model, task)
        if self.along is None:
            return
        what, number = self._direction()
        if what == "head":
            check_number(self, what, number, model.heads)
        else:
            check_group(self, number, model, task)
        if what == "head" and self.heads == (number,):
            raise ValueError(f"{self}: from head {number} there is no way towards itself; name another head")
        if what == "group" and self.part == "values":
            raise ValueError(f"{self}: a direction towards a group is one of attention; drop part=values")
        between = model.positions == "relative" or (model.positions == "one_hot" and model.score == "merged")
        if what == "group" and not between:
            raise ValueError(
                f"{self}: a direction towards a group needs scores between positions (model.score = merged with "
                "model.positions = one_hot, or model.positions = relative); take along=head… or noise"
            )

    def edit(self, subject: Subject, *, index: int) -> None:
        import torch

        decoder = subject.decoder
        for block, head in self.places(decoder.config):
            pieces = head_slices(decoder, block, head, self.part)
            if self.along is None:
                rng = generator(subject.seed, Stream.NOISE, subject.step, index, self.draw, block, head)
                for piece in pieces:
                    noise = torch.from_numpy(self.size * rng.standard_normal(tuple(piece.weights().shape)))
                    piece.weights().add_(noise.to(piece.weights()))
                continue
            what, number = self._direction()
            if what == "group":
                entries = position_entries(decoder, block, head)
                directions = [group_pattern(subject.task, decoder, number).to(entries)]
                if entries.ndim == 1:
                    lags = [lag - 1 for lag in subject.task.lags[number - 1]]
                    directions = [torch.zeros_like(entries).index_fill_(0, torch.tensor(lags), 1.0)]
                targets = [entries]
            else:
                towards = head_slices(decoder, block, number - 1, self.part)
                targets = [piece.weights() for piece in pieces]
                directions = [t.weights() - p.weights() for p, t in zip(pieces, towards, strict=True)]
            length = math.sqrt(sum(float((direction.double() ** 2).sum()) for direction in directions))
            if length > 0:
                for target, direction in zip(targets, directions, strict=True):
                    target.add_(direction, alpha=self.size / length)

    def _direction(self) -> tuple[str, int]:
        found = re.fullmatch(r"(head|group)(\d+)", self.along or "")
        assert found is not None
        return found[1], int(found[2])
