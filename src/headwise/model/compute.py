"""On what a run's arithmetic runs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from headwise.core.config import Config


class ComputeConfig(Config):
    """Where the arithmetic runs. But for the precision not part of a run's name, only recorded with it and restored on
    resume, because sums in another order differ in the last bits."""

    path: Annotated[
        Literal["auto", "kernel", "torch", "reference"],
        Field(description="auto takes the fastest that can compute this model"),
    ] = "auto"
    device: Annotated[str, Field(description="a torch device; the kernel runs on cpu only")] = "cpu"
    threads: Annotated[int, Field(ge=1, description="threads of one run")] = 1
    dtype: Annotated[Literal["float32", "float64"], Field(description="precision of the weights")] = "float32"
    chunk: Annotated[int, Field(ge=1, description="sequences computed at a time")] = 50
