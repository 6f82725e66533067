"""The two readings of the paper's simulation (App. D) as complete configs.

The text says gradient flow with noise of covariance 1e-6·I on s. The published figure fits the flow with Π in place of
Π², noise of deviation 1e-6 on s, and explicit Euler steps with clipping. The default of `FlowConfig` is neither: Π²
with noise of deviation 1e-3 on the logits, the only reading whose stages are separated by the paper's own boundaries
t = 25 and t = 300 (see the check `stage-boundaries`).
"""

from __future__ import annotations

from collections.abc import Callable

from headwise.core.errors import ConfigError
from headwise.core.named_options import named_options
from headwise.flow.config import FlowConfig


def text_flow() -> FlowConfig:
    """As the text describes it; median stages at t = 21, 44 and 125 over ten seeds, the last one up to 970."""
    return FlowConfig(noise="s-cov")


def published_flow() -> FlowConfig:
    """As the figure was drawn; median stages by DOP853 at 4.5, 55 and 190 over ten seeds, t_3 up to 290.

    With `noise_draw = figure` they come at 4.6, 51 and 236, as in the figure.
    """
    return FlowConfig(metric="plain", noise="s-std", method="euler", chart="s", euler_step=0.005, t_end=500.0)


PRESETS: dict[str, Callable[[], FlowConfig]] = {"published": published_flow, "text": text_flow}
"""The readings of the paper that describe a flow, by the name that `--preset` takes."""


@named_options
def flow_preset(preset: str | None = None) -> FlowConfig:
    """The flow of a reading of the paper, or without one the flow that fits the paper's stage boundaries.

    >>> from headwise import flow_preset
    >>> flow_preset("text").noise, flow_preset("published").method, flow_preset().noise
    ('s-cov', 'euler', 'logit')
    """
    if preset is None:
        return FlowConfig()
    if preset not in PRESETS:
        raise ConfigError(f"preset = {preset!r} is unknown; take {' or '.join(PRESETS)}")
    return PRESETS[preset]()
