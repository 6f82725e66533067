"""The regression flows of App. D under each reading, solved once per seed and process."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headwise.flow.config import FlowConfig
from headwise.study.config import Preset

if TYPE_CHECKING:
    from headwise.flow.simulate import SolvedFlow

DRAWN = FlowConfig(metric="plain", noise="s-std", method="euler", t_end=600.0)
"""As the published figure was drawn: Π, noise of deviation 1e-6 on s, explicit Euler steps of 0.005."""

WRITTEN = FlowConfig(metric="squared", noise="s-cov", t_end=3000.0)
"""As the text has it: Π², noise of covariance 1e-6 I on s."""

OVERLAID = FlowConfig(metric="squared", noise="logit", t_end=6000.0)
"""What fits the stage boundaries that the paper names for its theory overlay: Π², small noise on the logits."""


def flow_config(preset: Preset) -> FlowConfig:
    """The simulated flow of a preset."""
    return DRAWN if preset == "published" else WRITTEN


@functools.lru_cache(maxsize=16)
def solved(config: FlowConfig, seed: int) -> SolvedFlow:
    """A flow, solved."""
    from headwise.flow.simulate import solve_flow

    return solve_flow(config, seed)
