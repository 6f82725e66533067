"""The regression flows of App. D under each reading, solved once per seed and process."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headwise.flow.config import FlowConfig
from headwise.flow.presets import flow_preset
from headwise.study.config import Preset

if TYPE_CHECKING:
    from headwise.flow.simulate import SolvedFlow

OVERLAID = FlowConfig(t_end=6000.0)
"""What fits the stage boundaries that the paper names for its theory overlay: Π², small noise on the logits."""


def flow_config(preset: Preset) -> FlowConfig:
    """The simulated flow of a reading; flows have no drawn tokens, so a redrawn task has the published one."""
    return flow_preset("text" if preset == "text" else "published")


def drawn_under_theory(preset: Preset) -> FlowConfig:
    """The flow that the theory is drawn over."""
    return flow_config("text") if preset == "text" else OVERLAID


@functools.lru_cache(maxsize=16)
def solved(config: FlowConfig, seed: int) -> SolvedFlow:
    """The solution of a flow."""
    from headwise.flow.simulate import solve_flow

    return solve_flow(config, seed)
