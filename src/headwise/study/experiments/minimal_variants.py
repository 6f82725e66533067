"""Variations of the minimal model (§2.4, App. F, Fig. collaboration): one change each."""

from __future__ import annotations

from headwise.study.config import Preset, RunConfig
from headwise.study.experiments.hierarchy import default_ratio
from headwise.study.experiments.minimal import minimal
from headwise.task.config import overlapping_groups


def heads_4(preset: Preset) -> RunConfig:
    """Four heads for three groups; should show the same phases."""
    return minimal(preset).changed({"experiment": "heads-4", "model.heads": 4})


def no_weight_decay(preset: Preset) -> RunConfig:
    """No weight decay; should change almost nothing."""
    return minimal(preset).changed({"experiment": "no-weight-decay", "train.weight_decay": 0.0})


def alpha(preset: Preset) -> RunConfig:
    """Weights (0.7, 0.3) within every group, in both readings; attention should follow them."""
    return default_ratio(preset).changed({"experiment": "alpha", "task.alpha": (0.7, 0.3)})


def overlapping(preset: Preset, heads: int) -> RunConfig:
    """Three groups of four lags that share two with their neighbours.

    As published the most recent group is the most important, in the text's words the furthest one.
    """
    groups = overlapping_groups(3, 4, 2)
    return default_ratio(preset).changed(
        {
            "experiment": f"overlap-{heads}-heads",
            "task.w": 8,
            "task.groups": groups[::-1] if preset == "text" else groups,
            "task.overlap": "allow",
            "model.heads": heads,
        }
    )


def overlap_3_heads(preset: Preset) -> RunConfig:
    """Overlapping groups with three heads; stages should remain, their order may differ."""
    return overlapping(preset, 3)


def overlap_4_heads(preset: Preset) -> RunConfig:
    """Overlapping groups with four heads; stages should remain, their order may differ."""
    return overlapping(preset, 4)


def head_dynamics(preset: Preset) -> RunConfig:
    """The run behind Fig. collaboration: Frobenius-orthogonal features as published, Haar ones in the text's words."""
    if preset == "text":
        return minimal(preset)
    features = "figures-frobenius" if preset == "published" else "frobenius"
    return minimal(preset).changed({"experiment": "head-dynamics", "task.features": features})


def depth_minimal(preset: Preset) -> RunConfig:
    """Two minimal blocks; as published with groups of four, m = 1.8, rate 0.04 and 27000 sequences."""
    two_blocks = default_ratio(preset).changed(
        {"experiment": "depth-minimal", "model.blocks": 2, "train.samples": 27000}
    )
    if preset == "text":
        return two_blocks
    return two_blocks.changed({"task.w": 12, "task.m": 1.8, "train.lr": 0.04})
