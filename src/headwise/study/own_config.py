"""What a run's config says about code that its caller brought along: names and digests, never the code."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from headwise.core.config import Config


class CodeRecord(Config):
    """A function or class of somebody's own: what it is called, and the SHA-256 of its source."""

    name: str
    source: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class OwnConfig(Config):
    """Everything of the caller's own that a run was computed or measured with."""

    task: CodeRecord | None = None
    model: CodeRecord | None = None
    optimizer: CodeRecord | None = None
    metrics: dict[str, CodeRecord] = Field(default_factory=dict)

    def flat(self) -> dict[str, CodeRecord]:
        """Each piece of code by what it is for."""
        parts = {"task": self.task, "model": self.model, "optimizer": self.optimizer}
        parts |= {f"metrics[{name!r}]": record for name, record in self.metrics.items()}
        return {key: record for key, record in parts.items() if record is not None}
