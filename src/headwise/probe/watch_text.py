"""A watch in words: what is watched, how far it is, and what each head does at the last look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headwise.core.text import wrap
from headwise.phases.heads_now import heads_now, heads_text
from headwise.phases.importance_text import importance_parts

if TYPE_CHECKING:
    import xarray as xr

    from headwise.probe.probing import Layout

LOSSES = ("validation", "look", "train")
"""Losses in the order in which one is shown."""


def watch_text(seen: Layout, trajectory: xr.Dataset) -> str:
    """What `print(w)` shows."""
    parts = [wrap(str(seen)), looks_line(trajectory)]
    found = heads_now(trajectory)
    if found:
        last = f"{trajectory['step'].values[-1]:g}"
        parts += ["", f"what each head looks at most, at step {last} (L0H0 is block 1, head 1)", heads_text(found)]
    parts += importance_parts(trajectory)
    return "\n".join(parts)


def looks_line(trajectory: xr.Dataset) -> str:
    """How many looks, between which steps, and the loss at both ends."""
    steps = trajectory["step"].values
    looks = f"{len(steps)} look{'s' * (len(steps) != 1)}"
    when = f"at step {steps[0]:g}" if len(steps) == 1 else f"from step {steps[0]:g} to {steps[-1]:g}"
    return f"{looks} {when}{_loss_words(trajectory)}"


def _loss_words(trajectory: xr.Dataset) -> str:
    if "loss" not in trajectory:
        return ""
    for split in LOSSES:
        if split in trajectory["split"].values:
            values = trajectory["loss"].sel(split=split).values
            finite = np.flatnonzero(np.isfinite(values))
            if len(finite):
                ends = "" if len(finite) == 1 else f" to {values[finite[-1]]:.3f}"
                return f"; loss ({split}) {values[finite[0]]:.3f}{ends}{_diverged(trajectory, split, int(finite[-1]))}"
    return ""


def _diverged(trajectory: xr.Dataset, split: str, last: int) -> str:
    """That a loss which every look takes is no number any more; other losses may simply not have been given."""
    after = trajectory["step"].values[last + 1 :]
    return f", not finite since step {after[0]:g}" if split == "look" and len(after) else ""
