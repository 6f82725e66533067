"""How a model is trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from headwise.core.config import Config

OPTIMIZERS = (
    "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD", "Muon", "NAdam", "RAdam", "RMSprop", "Rprop",
    "SGD",
)  # fmt: skip
"""torch optimisers that take one gradient per step (LBFGS asks for several, SparseAdam for sparse ones)."""


class TrainConfig(Config):
    """Optimiser, data and schedule; the defaults are the paper's tables.

    >>> from headwise import TrainConfig
    >>> TrainConfig(steps=100, optimizer="SGD").batch
    3000
    """

    steps: Annotated[int, Field(ge=0, le=1_000_000_000, description="steps of the optimiser")] = 2000
    batch: Annotated[
        int, Field(ge=1, le=10_000_000, description="sequences per step; fewer when the data are fewer")
    ] = 3000
    data: Annotated[Literal["finite", "fresh"], Field(description="a fixed set, or a new batch each step")] = "finite"
    samples: Annotated[int, Field(ge=1, le=100_000_000, description="training sequences (finite data)")] = 9000
    optimizer: Annotated[str, Field(description="any torch optimiser by its class name")] = "AdamW"
    lr: Annotated[float, Field(gt=0, description="learning rate")] = 0.003
    weight_decay: Annotated[float, Field(ge=0, description="weight decay of the optimiser")] = 0.01
    momentum: Annotated[float, Field(ge=0, lt=1, description="for optimisers that have one")] = 0.0
    options: dict[str, float | int | bool] = Field(default_factory=dict, description="further optimiser arguments")
    clip: Annotated[float | None, Field(gt=0, description="largest gradient norm; none for no clipping")] = 1.0
    dropout_steps: Annotated[
        Literal["all", "first-of-pass"],
        Field(
            description="first-of-pass: dropout acts in the first step of each pass over the data, not in the others"
        ),
    ] = "all"
    schedule: Annotated[
        Literal["constant", "plateau"],
        Field(description="plateau: ReduceLROnPlateau stepped once per pass on the validation loss"),
    ] = "constant"
    patience: Annotated[int, Field(ge=0, description="plateau: passes without a lower loss before the rate falls")] = 10
    factor: Annotated[float, Field(gt=0, lt=1, description="plateau: what the rate is multiplied by")] = 0.5
    checkpoint_every: Annotated[int, Field(ge=1, description="steps between resumable states")] = 100
    keep_every: Annotated[
        int | None, Field(ge=1, description="checkpoints at multiples of this are kept; none keeps the last two")
    ] = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(f"train.optimizer = {self.optimizer!r} is unknown; known: {', '.join(OPTIMIZERS)}")
        if self.data == "finite" and self.batch > self.samples:
            raise ValueError(
                f"train.batch = {self.batch} is larger than train.samples = {self.samples}; lower the batch"
            )
        if self.keep_every is not None and self.keep_every % self.checkpoint_every:
            raise ValueError("train.keep_every must be a multiple of train.checkpoint_every")
        return self

    def with_consequences(self, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """Fewer samples than the batch has shrink the batch with them, unless the batch is given too."""
        samples = changes.get("samples")
        if isinstance(samples, int) and samples < self.batch and "batch" not in changes:
            return {**changes, "batch": max(samples, 1)}
        return changes
