"""headwise: watch attention heads learn.

Every command of `headwise` has a function here with the same defaults (docs/python.md), and `load`, `watch` and the
configs besides. Each name lives in the room that owns it and is imported when it is first used, so that reading a
stored run never waits for torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwise.bench.benchmark import benchmark
    from headwise.cli.completion import completion_script
    from headwise.core.look import Look
    from headwise.flow.config import FlowConfig
    from headwise.flow.presets import flow_preset
    from headwise.flow.seeds import simulate_seeds
    from headwise.flow.simulate import simulate
    from headwise.model.config import ModelConfig
    from headwise.paper.claim_list import list_claims
    from headwise.paper.reproduce import judge, reproduce
    from headwise.phases.detection import detect, detect_seeds
    from headwise.probe.live import watch
    from headwise.probe.probe_folder import probe_folder
    from headwise.store.read_run import load_trajectory as load
    from headwise.store.verify import verify
    from headwise.study.branch import branch
    from headwise.study.collect import collect
    from headwise.study.config import RunConfig
    from headwise.study.config_schema import config_schema
    from headwise.study.experiment_list import list_experiments
    from headwise.study.experiments import experiment
    from headwise.study.flows import keep_flow
    from headwise.study.run_table import list_runs
    from headwise.study.summary import show
    from headwise.study.sweep import plan_sweep, sweep
    from headwise.study.train import train
    from headwise.task.config import TaskConfig
    from headwise.task.own_task import OwnTask
    from headwise.theory.check import check, list_statements
    from headwise.track.exporting import export
    from headwise.track.tracker import Tracker
    from headwise.training.config import TrainConfig
    from headwise.view.draw_diagram import draw_diagram
    from headwise.view.figures import draw_branches, draw_phases, draw_run, draw_theory
    from headwise.view.report.notebook import notebook_page
    from headwise.view.report.page import page, refresh_page

_HOME = {
    "FlowConfig": "headwise.flow.config",
    "Look": "headwise.core.look",
    "ModelConfig": "headwise.model.config",
    "OwnTask": "headwise.task.own_task",
    "RunConfig": "headwise.study.config",
    "TaskConfig": "headwise.task.config",
    "Tracker": "headwise.track.tracker",
    "TrainConfig": "headwise.training.config",
    "benchmark": "headwise.bench.benchmark",
    "branch": "headwise.study.branch",
    "check": "headwise.theory.check",
    "collect": "headwise.study.collect",
    "completion_script": "headwise.cli.completion",
    "config_schema": "headwise.study.config_schema",
    "detect": "headwise.phases.detection",
    "detect_seeds": "headwise.phases.detection",
    "draw_branches": "headwise.view.figures",
    "draw_diagram": "headwise.view.draw_diagram",
    "draw_phases": "headwise.view.figures",
    "draw_run": "headwise.view.figures",
    "draw_theory": "headwise.view.figures",
    "experiment": "headwise.study.experiments",
    "export": "headwise.track.exporting",
    "flow_preset": "headwise.flow.presets",
    "judge": "headwise.paper.reproduce",
    "keep_flow": "headwise.study.flows",
    "list_claims": "headwise.paper.claim_list",
    "list_experiments": "headwise.study.experiment_list",
    "list_runs": "headwise.study.run_table",
    "list_statements": "headwise.theory.check",
    "load": "headwise.store.read_run",
    "notebook_page": "headwise.view.report.notebook",
    "page": "headwise.view.report.page",
    "plan_sweep": "headwise.study.sweep",
    "probe_folder": "headwise.probe.probe_folder",
    "refresh_page": "headwise.view.report.page",
    "reproduce": "headwise.paper.reproduce",
    "show": "headwise.study.summary",
    "simulate": "headwise.flow.simulate",
    "simulate_seeds": "headwise.flow.seeds",
    "sweep": "headwise.study.sweep",
    "train": "headwise.study.train",
    "verify": "headwise.store.verify",
    "watch": "headwise.probe.live",
}
"""The module in which each public name is defined."""

_OWN_NAMES = {"load": "load_trajectory"}
"""Names that are longer at home, where the short one would say too little."""

__all__ = [
    "FlowConfig",
    "Look",
    "ModelConfig",
    "OwnTask",
    "RunConfig",
    "TaskConfig",
    "Tracker",
    "TrainConfig",
    "benchmark",
    "branch",
    "check",
    "collect",
    "completion_script",
    "config_schema",
    "detect",
    "detect_seeds",
    "draw_branches",
    "draw_diagram",
    "draw_phases",
    "draw_run",
    "draw_theory",
    "experiment",
    "export",
    "flow_preset",
    "judge",
    "keep_flow",
    "list_claims",
    "list_experiments",
    "list_runs",
    "list_statements",
    "load",
    "notebook_page",
    "page",
    "plan_sweep",
    "probe_folder",
    "refresh_page",
    "reproduce",
    "show",
    "simulate",
    "simulate_seeds",
    "sweep",
    "train",
    "verify",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("headwise")
    if name not in _HOME:
        from headwise.core.keys import nearest_key

        near = nearest_key(name, __all__) or f"; it has {', '.join(__all__)}"
        raise AttributeError(f"headwise has no {name!r}{near}")
    try:
        home = import_module(_HOME[name])
    except ModuleNotFoundError as error:
        from headwise.core.extras import missing_extra

        raise missing_extra(error) or error from None
    return getattr(home, _OWN_NAMES.get(name, name))


def __dir__() -> list[str]:
    return list(__all__)
