"""What a caller adds to a run in Python: a task, a model, an optimiser or metrics of their own.

A run records of each its name and a digest of its source, which are part of what names the run. Stored code is never
executed: whoever goes on with a run gives the same code again, and other code is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headwise.core.errors import ConfigError
from headwise.core.look import Metric, OnLook
from headwise.core.own_metrics import checked_metrics
from headwise.core.source_digest import qualified_name, source_digest
from headwise.study.config import RunConfig
from headwise.study.own_config import CodeRecord, OwnConfig


@dataclass(frozen=True)
class OwnCode:
    """Functions of the caller's own; nothing of it is stored but names and digests."""

    metrics: Mapping[str, Metric] = field(default_factory=dict)
    on_look: OnLook | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", checked_metrics(self.metrics))
        if self.on_look is not None and not callable(self.on_look):
            raise ConfigError(f"on_look is a {type(self.on_look).__name__}; give a function of a look")

    def record(self) -> OwnConfig | None:
        """What the run keeps of it; `None` where nothing of one's own changes what is computed or measured."""
        made = OwnConfig(metrics={name: code_record(function) for name, function in self.metrics.items()})
        return None if made == OwnConfig() else made

    def recorded_in(self, config: RunConfig) -> RunConfig:
        """The config with this code in it; `ConfigError` where it says already that it was made with other code."""
        record = self.record()
        if config.own is not None and record is not None and record != config.own:
            raise ConfigError(different_code(config.own, record))
        return config if record is None else config.changed({"own": record})

    def require_all_of(self, config: RunConfig) -> None:
        """`ConfigError` unless this is the code that the config was made with."""
        record = self.record()
        if config.own != record:
            raise ConfigError(different_code(config.own or OwnConfig(), record or OwnConfig()))


NOTHING = OwnCode()


def code_record(thing: Any, *, name: str | None = None) -> CodeRecord:
    """The name and the digest of a function or class."""
    return CodeRecord(name=name or qualified_name(thing)[-200:], source=source_digest(thing))


def different_code(recorded: OwnConfig, given: OwnConfig) -> str:
    """The sentence for a run that was made with other code than is given now."""
    for key, was in recorded.flat().items():
        now = given.flat().get(key)
        if now is None:
            return f"{key}: this run was made with code of your own, {was.name}; give it again to headwise.train"
        if now != was:
            return (
                f"{key}: this run was made with {was.name} (source {was.source[:12]}), not {now.name} "
                f"({now.source[:12]}); give that one again, or begin another run from the experiment's config"
            )
    extra = next(iter(given.flat()), "own")
    return f"{extra}: this run was made without it; leave it out, or begin another run from the experiment's config"
