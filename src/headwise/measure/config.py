"""When a run is measured and against which predictors."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from headwise.core.config import Config


class Schedule(Config):
    """Steps at which something happens: every `every` steps, more often inside the ranges of `dense`.

    `dense` lists `(first, last, every)`. Step 0 and the last step always count.
    """

    every: Annotated[int, Field(ge=1, description="steps from one to the next")] = 10
    dense: Annotated[
        tuple[tuple[int, int, int], ...], Field(description="more often in some ranges, each as [first, last, every]")
    ] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for first, last, every in self.dense:
            if first < 0 or last < first or every < 1:
                raise ValueError(
                    f"a dense range is (first, last, every) with first <= last: got {(first, last, every)}"
                )
        return self

    def due(self, step: int, last: int) -> bool:
        """Whether `step` of a run that ends at `last` is on the schedule."""
        if step in (0, last) or step % self.every == 0:
            return True
        return any(a <= step <= b and (step - a) % every == 0 for a, b, every in self.dense)

    def steps(self, last: int) -> list[int]:
        """All steps on the schedule of a run that ends at `last`."""
        return [step for step in range(last + 1) if self.due(step, last)]


class MeasureConfig(Config):
    """What is measured, on how many test sequences, how often. Never changes training."""

    test_samples: Annotated[
        int, Field(ge=1, le=10_000_000, description="test sequences, all used at every evaluation")
    ] = 3000
    at: Annotated[Schedule, Field(description="evaluations")] = Schedule(every=10)
    snapshots: Annotated[Schedule, Field(description="attention maps")] = Schedule(every=50)
    windows: Annotated[
        tuple[int, ...], Field(description="restricted-context models to compare with; missing ones are trained first")
    ] = ()
    window_samples: Annotated[
        int | None, Field(ge=1, description="sequences those models are trained on; none: as many as the run itself")
    ] = None
    bayes: Annotated[
        tuple[int, ...], Field(description="compare with the Bayes-optimal predictors that see the first i groups")
    ] = ()

    importance: Annotated[
        Annotated[int, Field(ge=1)] | Literal["last"] | None,
        Field(description="measure how the loss rises without each head: at every n-th evaluation, or at the last one"),
    ] = None
    importance_of: Annotated[
        Literal["heads", "pairs"], Field(description="without each head; pairs: also without any two of a block")
    ] = "heads"

    @model_validator(mode="after")
    def _pairs_of_something(self) -> Self:
        if self.importance_of == "pairs" and self.importance is None:
            raise ValueError(
                "measure.importance_of = 'pairs' needs measure.importance: a number of evaluations, or last"
            )
        return self

    def importance_steps(self, last: int) -> frozenset[int]:
        """The evaluations of a run that ends at `last` at which head importance is measured."""
        if self.importance is None:
            return frozenset()
        return frozenset([last] if self.importance == "last" else [*self.at.steps(last)[:: self.importance], last])

    @field_validator("windows", "bayes", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return (value,) if isinstance(value, int) else value
