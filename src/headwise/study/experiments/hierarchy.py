"""Importance ratio m between neighbouring groups (Fig. ablations, right)."""

from __future__ import annotations

from headwise.study.config import Preset, RunConfig
from headwise.study.experiments.initialisation import from_xavier
from headwise.study.experiments.minimal import minimal

RATIOS = ("1", "1.3", "1.5")
"""Ratios beside the default 1.7."""


def default_ratio(preset: Preset) -> RunConfig:
    """m = 1.7 from the weights this ablation starts from: Xavier as published, tiny scores in the text's words."""
    return from_xavier(preset) if preset == "published" else minimal(preset)


def with_ratio(preset: Preset, ratio: str) -> RunConfig:
    """The same run with another ratio."""
    base = default_ratio(preset)
    return base.model_copy(
        update={"experiment": f"ratio-{ratio}", "task": base.task.model_copy(update={"m": float(ratio)})}
    )


def ratio_1(preset: Preset) -> RunConfig:
    """No hierarchy, m = 1: two stages, done by step 200 in the paper."""
    return with_ratio(preset, "1")


def ratio_13(preset: Preset) -> RunConfig:
    """m = 1.3: three stages close together, done by step 300 in the paper."""
    return with_ratio(preset, "1.3")


def ratio_15(preset: Preset) -> RunConfig:
    """m = 1.5: three stages, done by step 400 in the paper."""
    return with_ratio(preset, "1.5")
