"""Importance ratio m between neighbouring groups (Fig. ablations, right)."""

from __future__ import annotations

from headwise.study.config import Preset, RunConfig
from headwise.study.experiments.initialisation import from_xavier
from headwise.study.experiments.minimal import minimal


def default_ratio(preset: Preset) -> RunConfig:
    """m = 1.7 from the weights this ablation starts from: Xavier as published, tiny scores in the text's words."""
    return minimal(preset) if preset == "text" else from_xavier(preset)


def with_ratio(preset: Preset, ratio: str) -> RunConfig:
    """The same run with another ratio."""
    return default_ratio(preset).changed({"experiment": f"ratio-{ratio}", "task.m": float(ratio)})


def with_ratio_from_small(preset: Preset, ratio: str) -> RunConfig:
    """Another ratio from the minimal model's own tiny start, the second candidate for what the figure shows."""
    name = f"ratio-{ratio}" if preset == "text" else f"small-ratio-{ratio}"
    return minimal(preset).changed({"experiment": name, "task.m": float(ratio)})


def ratio_1(preset: Preset) -> RunConfig:
    """No hierarchy, m = 1: two stages, done by step 200 in the paper."""
    return with_ratio(preset, "1")


def ratio_13(preset: Preset) -> RunConfig:
    """m = 1.3: three stages close together, done by step 300 in the paper."""
    return with_ratio(preset, "1.3")


def ratio_15(preset: Preset) -> RunConfig:
    """m = 1.5: three stages, done by step 400 in the paper."""
    return with_ratio(preset, "1.5")


def small_ratio_1(preset: Preset) -> RunConfig:
    """m = 1 from scores of 1e-9 and zero values; in the text's words the same as ratio-1."""
    return with_ratio_from_small(preset, "1")


def small_ratio_13(preset: Preset) -> RunConfig:
    """m = 1.3 from scores of 1e-9 and zero values; in the text's words the same as ratio-1.3."""
    return with_ratio_from_small(preset, "1.3")


def small_ratio_15(preset: Preset) -> RunConfig:
    """m = 1.5 from scores of 1e-9 and zero values; in the text's words the same as ratio-1.5."""
    return with_ratio_from_small(preset, "1.5")
