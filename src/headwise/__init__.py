"""headwise: watch attention heads learn.

The public surface is small; each name is imported when it is first used, so that reading a stored run never waits
for torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwise.api import load, train
    from headwise.flow.config import FlowConfig
    from headwise.flow.presets import flow_preset
    from headwise.flow.seeds import simulate_seeds
    from headwise.flow.simulate import simulate
    from headwise.model.config import ModelConfig
    from headwise.phases.detection import detect, detect_seeds
    from headwise.probe import watch
    from headwise.probe.probe_folder import probe_folder
    from headwise.store import list_runs
    from headwise.study.config import RunConfig
    from headwise.study.experiment_list import list_experiments
    from headwise.study.experiments import experiment
    from headwise.study.flows import keep_flow
    from headwise.study.summary import show
    from headwise.task.config import TaskConfig
    from headwise.theory.check import check, list_statements
    from headwise.training.config import TrainConfig
    from headwise.view.report.page import page, refresh_page

_HOME = {
    "load": "headwise.api",
    "train": "headwise.api",
    "simulate": "headwise.flow.simulate",
    "simulate_seeds": "headwise.flow.seeds",
    "flow_preset": "headwise.flow.presets",
    "keep_flow": "headwise.study.flows",
    "list_experiments": "headwise.study.experiment_list",
    "list_runs": "headwise.store",
    "page": "headwise.view.report.page",
    "probe_folder": "headwise.probe.probe_folder",
    "refresh_page": "headwise.view.report.page",
    "show": "headwise.study.summary",
    "check": "headwise.theory.check",
    "list_statements": "headwise.theory.check",
    "detect": "headwise.phases.detection",
    "detect_seeds": "headwise.phases.detection",
    "watch": "headwise.probe",
    "experiment": "headwise.study.experiments",
    "RunConfig": "headwise.study.config",
    "TaskConfig": "headwise.task.config",
    "ModelConfig": "headwise.model.config",
    "TrainConfig": "headwise.training.config",
    "FlowConfig": "headwise.flow.config",
}

__all__ = [
    "FlowConfig",
    "ModelConfig",
    "RunConfig",
    "TaskConfig",
    "TrainConfig",
    "check",
    "detect",
    "detect_seeds",
    "experiment",
    "flow_preset",
    "keep_flow",
    "list_experiments",
    "list_runs",
    "list_statements",
    "load",
    "page",
    "probe_folder",
    "refresh_page",
    "show",
    "simulate",
    "simulate_seeds",
    "train",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"headwise has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
