"""Variations of the minimal model (§2.4, App. F, Fig. collaboration): one change each."""

from __future__ import annotations

from headwise.study.config import Preset, RunConfig
from headwise.study.experiments.hierarchy import default_ratio
from headwise.study.experiments.minimal import minimal
from headwise.task.config import overlapping_groups


def heads_4(preset: Preset) -> RunConfig:
    """Four heads for three groups; should show the same phases."""
    base = minimal(preset)
    return base.model_copy(update={"experiment": "heads-4", "model": base.model.model_copy(update={"heads": 4})})


def no_weight_decay(preset: Preset) -> RunConfig:
    """No weight decay; should change almost nothing."""
    base = minimal(preset)
    return base.model_copy(
        update={"experiment": "no-weight-decay", "train": base.train.model_copy(update={"weight_decay": 0.0})}
    )


def alpha(preset: Preset) -> RunConfig:
    """Weights (0.7, 0.3) within every group, in both readings; attention should follow them."""
    base = default_ratio(preset)
    return base.model_copy(update={"experiment": "alpha", "task": base.task.model_copy(update={"alpha": (0.7, 0.3)})})


def overlapping(preset: Preset, heads: int) -> RunConfig:
    """Three groups of four lags that share two with their neighbours.

    As published the most recent group is the most important, in the text's words the furthest one.
    """
    base = default_ratio(preset)
    groups = overlapping_groups(3, 4, 2)
    task = base.task.model_copy(
        update={"w": 8, "groups": groups if preset == "published" else groups[::-1], "overlap": "allow"}
    )
    model = base.model.model_copy(update={"heads": heads})
    return base.model_copy(update={"experiment": f"overlap-{heads}-heads", "task": task, "model": model})


def overlap_3_heads(preset: Preset) -> RunConfig:
    """Overlapping groups with three heads; stages should remain, their order may differ."""
    return overlapping(preset, 3)


def overlap_4_heads(preset: Preset) -> RunConfig:
    """Overlapping groups with four heads; stages should remain, their order may differ."""
    return overlapping(preset, 4)


def head_dynamics(preset: Preset) -> RunConfig:
    """The run behind Fig. collaboration: Frobenius-orthogonal features as published, Haar ones in the text's words."""
    base = minimal(preset)
    if preset == "text":
        return base
    return base.model_copy(
        update={"experiment": "head-dynamics", "task": base.task.model_copy(update={"features": "frobenius"})}
    )


def depth_minimal(preset: Preset) -> RunConfig:
    """Two minimal blocks; as published with groups of four, m = 1.8, rate 0.04 and 27000 sequences."""
    base = default_ratio(preset)
    published = preset == "published"
    return base.model_copy(
        update={
            "experiment": "depth-minimal",
            "task": base.task.model_copy(update={"w": 12, "m": 1.8} if published else {}),
            "model": base.model.model_copy(update={"blocks": 2}),
            "train": base.train.model_copy(update={"samples": 27000} | ({"lr": 0.04} if published else {})),
        }
    )
