"""What a trajectory offers the views: plain finite arrays, and one sentence for each thing it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr

from headwise.core.errors import ConfigError
from headwise.core.trajectory import attribute, head_overlap
from headwise.phases.discovery import find_patterns
from headwise.phases.patterns import Pattern, ideal_patterns, pattern_shares

Groups = Literal["given", "found"]
"""Whether patterns are those of the trajectory's groups or are found in the attention itself."""


@dataclass(frozen=True)
class HeadSource:
    """Finite pattern shares (step, block, head, pattern) and, where attention by lag is known, overlaps of heads."""

    steps: np.ndarray
    shares: np.ndarray
    patterns: tuple[Pattern, ...]
    overlap: np.ndarray | None
    notes: tuple[str, ...]


def in_time_order(trajectory: xr.Dataset) -> xr.Dataset:
    """The trajectory with strictly increasing steps; of equal steps the first stays."""
    if "step" not in trajectory.dims or not trajectory.sizes["step"]:
        raise ConfigError("the trajectory has no evaluations along step; record at least one")
    if "step" not in trajectory.coords:
        raise ConfigError("the trajectory's step has no coordinate; name the step of each evaluation")
    ordered = trajectory.sortby("step")
    steps = ordered["step"].values.astype(float)
    keep = np.isfinite(steps) & np.concatenate([[True], np.diff(steps) > 0])
    return ordered.isel(step=np.flatnonzero(keep))


def excess_loss(trajectory: xr.Dataset) -> tuple[np.ndarray | None, list[str]]:
    """The excess loss, or the last split of the loss above its own minimum where no reference is known."""
    if "excess_loss" in trajectory:
        return trajectory["excess_loss"].values, []
    if "loss" in trajectory:
        split = str(trajectory["loss"]["split"].values[-1]) if "split" in trajectory["loss"].coords else "last"
        loss = trajectory["loss"].isel(split=-1).values
        note = f"loss: no excess_loss; the {split} loss above its own minimum stands in"
        return (loss - np.nanmin(loss) if np.isfinite(loss).any() else loss), [note]
    return None, ["loss: the trajectory has neither excess_loss nor loss; this view is left out"]


def predictor_distances(trajectory: xr.Dataset) -> tuple[np.ndarray | None, list[str], list[str]]:
    """KL curves (step, predictor), their names, and notes."""
    if "kl" not in trajectory:
        told = (str(note) for note in attribute(trajectory, "notes") or [])
        reason = next((note.removeprefix("predictors: ") for note in told if note.startswith("predictors: ")), None)
        return None, [], [f"function: {reason or 'the trajectory has no kl to any predictor'}; this view is left out"]
    names = [str(name) for name in trajectory["kl"]["predictor"].values]
    return trajectory["kl"].values, names, []


def head_source(trajectory: xr.Dataset, groups: Groups) -> HeadSource | str:
    """Pattern shares of every head, or why there are none."""
    if "attention_by_lag" in trajectory:
        return _from_lags(trajectory, groups)
    if "attention_by_group" in trajectory and groups == "given":
        attention, steps, notes = _finite(trajectory["attention_by_group"])
        if not len(steps):
            return "heads: attention_by_group is nowhere finite; this view is left out"
        labels = trajectory["attention_by_group"]["group"].values.tolist()
        patterns = tuple(Pattern(int(label), (), ()) for label in labels)
        note = "heads: read from attention_by_group; patterns that share lags cannot be distinguished"
        return HeadSource(steps, attention, patterns, None, (*notes, note))
    return "heads: the trajectory has no attention_by_lag; this view is left out"


def _from_lags(trajectory: xr.Dataset, groups: Groups) -> HeadSource | str:
    attention, steps, notes = _finite(trajectory["attention_by_lag"])
    if not len(steps):
        return "heads: attention_by_lag is nowhere finite; this view is left out"
    lags = trajectory["attention_by_lag"]["lag"].values
    given: Sequence[Sequence[int]] | None = attribute(trajectory, "groups") if groups == "given" else None
    notes = list(notes)
    if given:
        patterns = ideal_patterns(given, attribute(trajectory, "alpha"))
        unseen = sorted({lag for p in patterns for lag in p.lags} - {int(lag) for lag in lags})
        if unseen:
            notes.append(f"heads: lags {unseen} of the groups were not recorded; they count as unattended")
    else:
        patterns = find_patterns(attention.reshape(len(steps), -1, len(lags)), lags)
        found = "; ".join(f"lags {p.label}" for p in patterns) or "none"
        notes.append(f"heads: groups are not known; patterns found in the attention: {found}")
    shares = pattern_shares(attention, lags.tolist(), patterns)
    overlap = np.stack([head_overlap(one) for one in attention])  # a step at a time: pairs of heads by lags are many
    return HeadSource(steps, shares, tuple(patterns), overlap, tuple(notes))


def value_coefficients(trajectory: xr.Dataset) -> tuple[np.ndarray, np.ndarray, list[Any]] | str:
    """Steps, coefficients (step, block, head, group) and group labels, or why there are none."""
    if "value_coefficient" not in trajectory:
        return "compensation: the trajectory has no value_coefficient; it is left out"
    values, steps, _ = _finite(trajectory["value_coefficient"])
    if not len(steps):
        return "compensation: value_coefficient is nowhere finite; it is left out"
    return steps, values, trajectory["value_coefficient"]["group"].values.tolist()


def _finite(variable: xr.DataArray) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Evaluations at which the variable is finite everywhere, with a note on the others."""
    values = np.asarray(variable.transpose("step", ...).values, dtype=float)
    good = np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    lost = int((~good).sum())
    notes = [f"heads: {lost} evaluations of {variable.name} are not finite and were left out"] if lost else []
    return values[good], variable["step"].values[good].astype(float), notes
