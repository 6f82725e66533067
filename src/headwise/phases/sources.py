"""What a trajectory offers the views: plain finite arrays, and one sentence for each thing it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr

from headwise.core.errors import ConfigError
from headwise.core.head_counts import head_counts
from headwise.core.trajectory import attribute
from headwise.phases.chance import chance_of_lags, excess_share
from headwise.phases.discovery import find_patterns
from headwise.phases.patterns import Pattern, excess_shares, ideal_patterns, pattern_shares
from headwise.phases.role_names import pattern_words

NAMED = 12
"""Found patterns that a note names."""

Groups = Literal["given", "found"]
"""Whether patterns are those of the trajectory's groups or are found in the attention itself."""


@dataclass(frozen=True)
class HeadSource:
    """Finite pattern shares (step, block, head, pattern) and, where it is known, what they were read from.

    `attention` is (step, block, head, lag), `error` its standard error where that was recorded, `chance` (step, block,
    lag) what even attention gives. `heads` is how many heads each block has; blocks with fewer than the largest hold
    NaN in the places of those that they lack. `found` says that the patterns were found in the attention and not given
    as groups.
    """

    steps: np.ndarray
    shares: np.ndarray
    patterns: tuple[Pattern, ...]
    notes: tuple[str, ...]
    heads: tuple[int, ...]
    lags: tuple[int, ...] = ()
    attention: np.ndarray | None = None
    chance: np.ndarray | None = None
    error: np.ndarray | None = None
    found: bool = False


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


def predictor_distances(trajectory: xr.Dataset) -> tuple[np.ndarray | None, list[str], list[str]]:
    """KL curves (step, predictor), their names, and notes."""
    if "kl" not in trajectory:
        return None, [], ["function: the trajectory has no kl to any predictor; this view is left out"]
    names = [str(name) for name in trajectory["kl"]["predictor"].values]
    return trajectory["kl"].values, names, []


def head_source(trajectory: xr.Dataset, groups: Groups) -> HeadSource | str:
    """Pattern shares of every head, or why there are none."""
    heads = tuple(head_counts(trajectory))
    if "attention_by_lag" in trajectory:
        return _from_lags(trajectory, groups, heads)
    if "attention_by_group" in trajectory and groups == "given":
        attention, steps, notes = _finite(trajectory["attention_by_group"], heads)
        if not len(steps):
            return "heads: attention_by_group is nowhere finite; this view is left out"
        labels = trajectory["attention_by_group"]["group"].values.tolist()
        patterns = tuple(Pattern(int(label), (), ()) for label in labels)
        note = "heads: read from attention_by_group; patterns that share lags cannot be distinguished"
        return HeadSource(steps, attention, patterns, (*notes, note), heads)
    return "heads: the trajectory has no attention_by_lag; this view is left out"


def _from_lags(trajectory: xr.Dataset, groups: Groups, heads: tuple[int, ...]) -> HeadSource | str:
    attention, steps, notes = _finite(trajectory["attention_by_lag"], heads)
    if not len(steps):
        return "heads: attention_by_lag is nowhere finite; this view is left out"
    lags = [int(lag) for lag in trajectory["attention_by_lag"]["lag"].values]
    kept = np.isin(trajectory["step"].values.astype(float), steps)
    chance = chance_of_lags(trajectory)[kept]
    error = None
    if "lag_error" in trajectory:
        error = np.asarray(trajectory["lag_error"].transpose("step", ...).values, dtype=float)[kept]
    given: Sequence[Sequence[int]] | None = attribute(trajectory, "groups") if groups == "given" else None
    notes = list(notes)
    if given:
        patterns = ideal_patterns(given, attribute(trajectory, "alpha"))
        unseen = sorted({lag for p in patterns for lag in p.lags} - set(lags))
        if unseen:
            notes.append(f"heads: lags {unseen} of the groups were not recorded; they count as unattended")
        shares = pattern_shares(attention, lags, patterns)
    else:
        patterns, shares = _found(attention, lags, chance, heads)
        found = "; ".join(pattern_words(p.label) for p in patterns[:NAMED]) or "none"
        found += f"; and {len(patterns) - NAMED} more" * (len(patterns) > NAMED)
        notes.append(f"heads: groups are not known; patterns found in the attention: {found}")
    return HeadSource(
        steps, shares, tuple(patterns), tuple(notes), heads, tuple(lags), attention, chance, error, found=not given
    )


def _found(
    attention: np.ndarray, lags: list[int], chance: np.ndarray, heads: tuple[int, ...]
) -> tuple[list[Pattern], np.ndarray]:
    """The patterns of every block and the shares of all of them; a block has no share of what only others show."""
    own = [
        find_patterns(attention[:, block, :count], np.array(lags), chance[:, block])
        for block, count in enumerate(heads)
    ]
    patterns = list({pattern.lags: pattern for block in own for pattern in block}.values())
    shares = excess_shares(attention, lags, patterns, chance[:, :, None])
    for block, shown in enumerate(own):
        shares[:, block, :, [i for i, pattern in enumerate(patterns) if pattern not in shown]] = 0
    return patterns, shares


def largest_lags(source: HeadSource, looks: int) -> np.ndarray | None:
    """Of found patterns the largest excess share of one of their lags, (step, block, head, pattern), at the last
    looks.
    """
    if not source.found or source.attention is None or source.chance is None or not source.patterns:
        return None
    excess = excess_share(source.attention[-looks:], source.chance[-looks:, :, None])
    column = {lag: i for i, lag in enumerate(source.lags)}
    return np.stack([excess[..., [column[lag] for lag in p.lags]].max(axis=-1) for p in source.patterns], axis=-1)


def value_coefficients(trajectory: xr.Dataset) -> tuple[np.ndarray, np.ndarray, list[Any]] | str:
    """Steps, coefficients (step, block, head, group) and group labels, or why there are none."""
    if "value_coefficient" not in trajectory:
        return "compensation: the trajectory has no value_coefficient; it is left out"
    values, steps, _ = _finite(trajectory["value_coefficient"], tuple(head_counts(trajectory)))
    if not len(steps):
        return "compensation: value_coefficient is nowhere finite; it is left out"
    return steps, values, trajectory["value_coefficient"]["group"].values.tolist()


def _finite(variable: xr.DataArray, heads: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Evaluations at which the variable, (step, block, head, ...), is finite for every head that there is, with a note
    on the others.
    """
    values = np.asarray(variable.transpose("step", "block", "head", ...).values, dtype=float)
    own = [values[:, block, :count].reshape(len(values), -1) for block, count in enumerate(heads)]
    good = np.isfinite(np.concatenate(own, axis=1)).all(axis=1)
    lost = int((~good).sum())
    notes = [f"heads: {lost} evaluations of {variable.name} are not finite and were left out"] if lost else []
    return values[good], variable["step"].values[good].astype(float), notes
