"""Quantities that several claims read off a trajectory, each defined once.

A quantity that a run does not have is `None`; the claim is then inconclusive for that run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headwise.core.predictors import predictors_of_kind
from headwise.core.trajectory import attribute

if TYPE_CHECKING:
    import xarray as xr

    from headwise.phases.run_report import RunReport


@dataclass(frozen=True)
class Passage:
    """How a run passes by a sequence of predictors: when it is nearest to each, how near, and where it ends."""

    names: tuple[str, ...]
    nearest: tuple[float, ...]
    lowest: tuple[float, ...]
    final: tuple[float, ...]

    @property
    def rises(self) -> tuple[float, ...]:
        """How far each distance is above its minimum at the end."""
        return tuple(end - low for end, low in zip(self.final, self.lowest, strict=True))

    @property
    def ordered(self) -> bool:
        """Whether the minima come strictly one after the other."""
        return all(a < b for a, b in zip(self.nearest[:-1], self.nearest[1:], strict=True))

    @property
    def note(self) -> str:
        """One line for a person."""
        parts = (
            f"{name} nearest at step {step:g} ({low:.2f} nats, {end:.2f} at the end)"
            for name, step, low, end in zip(self.names, self.nearest, self.lowest, self.final, strict=True)
        )
        return "; ".join(parts)


def prefixes(trajectory: xr.Dataset) -> list[str]:
    """The names of the predictors that see the first i groups."""
    return predictors_of_kind(trajectory["predictor"].values, "prefix")


def passage(trajectory: xr.Dataset, names: Sequence[str]) -> Passage | None:
    """Minima and ends of the distances to these predictors; `None` where one of them was not recorded or not finite."""
    known = {str(name) for name in trajectory["predictor"].values} if "kl" in trajectory else set()
    if not set(names) <= known:
        return None
    curves = trajectory["kl"].sel(predictor=list(names)).values
    if not np.isfinite(curves).all():
        return None
    steps = trajectory["step"].values
    at = curves.argmin(0)
    lowest = [float(curves[i, j]) for j, i in enumerate(at)]
    return Passage(tuple(names), tuple(float(steps[i]) for i in at), tuple(lowest), tuple(float(v) for v in curves[-1]))


def report_of(trajectory: xr.Dataset) -> RunReport:
    """Stages, phases and offshoots by the detector, with its fixed thresholds."""
    from headwise.phases.detection import detect

    return detect(trajectory)


def group_shares(trajectory: xr.Dataset) -> np.ndarray:
    """Attention on each group, (step, heads of all blocks, group)."""
    shares = trajectory["attention_by_group"].transpose("step", "block", "head", "group").values
    return np.asarray(shares.reshape(shares.shape[0], -1, shares.shape[-1]))


def first_below(trajectory: xr.Dataset, level: float) -> float | None:
    """The first step at which the excess loss is below a level."""
    below = np.flatnonzero(trajectory["excess_loss"].values < level)
    return float(trajectory["step"].values[below[0]]) if len(below) else None


def best_index(trajectory: xr.Dataset) -> int:
    """The evaluation with the lowest excess loss, where early stopping would stop."""
    return int(np.nanargmin(trajectory["excess_loss"].values))


def groups_of(trajectory: xr.Dataset) -> list[list[int]]:
    """The lags of each group."""
    groups: list[list[int]] = attribute(trajectory, "groups")
    return groups
