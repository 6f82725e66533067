"""What a caller adds to a run in Python: a task, a model, an optimiser or metrics of their own.

A run records of each its name and a digest of its source, which are part of what names the run. Stored code is never
executed: whoever goes on with a run gives the same code again, and other code is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headwise.core.errors import ConfigError
from headwise.core.look import Metric, OnLook, checked_on_look
from headwise.core.own_metrics import checked_metrics
from headwise.core.source_digest import qualified_name, source_digest
from headwise.model.config import ModelConfig
from headwise.study.config import RunConfig
from headwise.study.experiments import EXPERIMENTS
from headwise.study.own_config import CodeRecord, OwnConfig
from headwise.task.own_task import OwnTask

if TYPE_CHECKING:
    from headwise.study.own_engine import Build
    from headwise.training.optimisers import MakeOptimiser


@dataclass(frozen=True)
class OwnCode:
    """Functions of the caller's own; nothing of it is stored but names and digests."""

    task: OwnTask | None = None
    model: Build | None = None
    attention: str | None = None
    optimizer: MakeOptimiser | None = None
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    on_look: OnLook | None = None

    def __post_init__(self) -> None:
        if self.task is not None and not isinstance(self.task, OwnTask):
            raise ConfigError(f"task is a {type(self.task).__name__}; give a headwise.OwnTask")
        if self.attention is not None and self.model is None:
            raise ConfigError("attention names modules of a model of your own; give model= too")
        for key, given in (("model", self.model), ("optimizer", self.optimizer)):
            if given is not None and (not callable(given) or _is_made_already(given)):
                example = "model=lambda: Net()" if key == "model" else "optimizer=lambda parameters: SGD(parameters)"
                raise ConfigError(
                    f"{key} is a {type(given).__name__}; give a function that makes it, such as {example}, so that a "
                    "run depends on its seed alone"
                )
        object.__setattr__(self, "metrics", checked_metrics(self.metrics))
        checked_on_look(self.on_look)

    def record(self) -> OwnConfig | None:
        """What the run keeps of it; `None` where nothing of one's own changes what is computed or measured."""
        made = OwnConfig(
            task=None if self.task is None else code_record(_task_code(self.task), name=self.task.name),
            model=None if self.model is None else code_record((self.model, self.attention), name=_name(self.model)),
            optimizer=None if self.optimizer is None else code_record(self.optimizer),
            metrics={name: code_record(function) for name, function in self.metrics.items()},
        )
        return None if made == OwnConfig() else made

    def recorded_in(self, config: RunConfig) -> RunConfig:
        """The config with this code in it; `ConfigError` where it says already that it was made with other code."""
        record = self.record()
        if config.own is not None and record is not None and record != config.own:
            raise ConfigError(different_code(config.own, record))
        return config if record is None else self._consequences(config).changed({"own": record})

    def _consequences(self, config: RunConfig) -> RunConfig:
        """The config with what a task or a model of one's own means for its other keys."""
        changes: dict[str, Any] = {}
        if self.task is not None:
            if config.measure.windows or config.measure.bayes:
                raise ConfigError(
                    "measure.windows and measure.bayes belong to the paper's task; give laws to compare with as "
                    "OwnTask(predictors=...)"
                )
            changes["task"] = self.task.config()
        if self.model is not None:
            if config.measure.windows:
                raise ConfigError("measure.windows are decoders of headwise; leave it out with a model of your own")
            changes |= {"model": ModelConfig(), "compute.path": "reference"}
        if self.changes_training and config.experiment in EXPERIMENTS:
            changes["experiment"] = f"{config.experiment}-own"
        return config.changed(changes)

    @property
    def changes_training(self) -> bool:
        """Whether another model is trained than the config alone would say."""
        return self.task is not None or self.model is not None or self.optimizer is not None

    def require_all_of(self, config: RunConfig) -> None:
        """`ConfigError` unless this is the code that the config was made with."""
        record = self.record()
        if config.own != record:
            raise ConfigError(different_code(config.own or OwnConfig(), record or OwnConfig()))


NOTHING = OwnCode()


def _is_made_already(thing: Any) -> bool:
    """Whether this is a module or an optimiser rather than what makes one; torch is imported if it is one."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.nn.Module | torch.optim.Optimizer)


def _task_code(task: OwnTask) -> list[Any]:
    """Everything of a task that its sequences and laws come from."""
    sizes = [task.d, task.length, task.predicted, [list(group) for group in task.lags]]
    return [task.sample, task.law, dict(task.predictors), sizes]


def _name(thing: Any) -> str:
    return qualified_name(thing)[-200:]


def code_record(thing: Any, *, name: str | None = None) -> CodeRecord:
    """The name and the digest of a function or class."""
    return CodeRecord(name=name or _name(thing), source=source_digest(thing))


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
