"""The ladder of §2.4: components of the full decoder removed alone and together."""

from __future__ import annotations

from headwise.model.config import DropoutConfig
from headwise.study.config import Preset, RunConfig
from headwise.study.experiments.full import full

REMOVALS: dict[str, dict[str, object]] = {
    "norm": {"model.norm": "none"},
    "residual": {"model.residual": "off"},
    "mlp": {"model.mlp": 0},
    "dropout": {"model.dropout": DropoutConfig(), "train.dropout_steps": "all"},
    "key": {"model.score": "merged", "model.attention_bias": "off"},
}
"""What each rung switches off; `key` merges the product of key and query matrix into one."""


def without(preset: Preset, component: str) -> RunConfig:
    """The full decoder without one component, or without `all` of them."""
    removed = REMOVALS if component == "all" else (component,)
    change = {key: value for name in removed for key, value in REMOVALS[name].items()}
    return full(preset).changed({"experiment": f"no-{component}", **change})


def no_norm(preset: Preset) -> RunConfig:
    """The full decoder without layer norm."""
    return without(preset, "norm")


def no_residual(preset: Preset) -> RunConfig:
    """The full decoder without residual connections; lag 1 should be copied like the rest of its group."""
    return without(preset, "residual")


def no_mlp(preset: Preset) -> RunConfig:
    """The full decoder without its MLP."""
    return without(preset, "mlp")


def no_dropout(preset: Preset) -> RunConfig:
    """The full decoder without dropout."""
    return without(preset, "dropout")


def no_key(preset: Preset) -> RunConfig:
    """The full decoder with key and query matrices merged into one."""
    return without(preset, "key")


def no_all(preset: Preset) -> RunConfig:
    """The full decoder without norm, residual, MLP, dropout and key matrix."""
    return without(preset, "all")
