"""Which loss the loss view reads, when each value belongs, and how noisy it is.

The excess loss of headwise's own runs has a known lower end. Of a watched model the validation loss is best, then the
loss on each look's own batch, then the mean over training steps, dated at the middle of its interval and with its own
standard error. A value that is only repeated was not measured again and is not read twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from headwise.phases.series import Series, finite_series, noise_level, without_spikes

PREFERRED = ("validation", "test", "look", "population", "train")
HELD = 0.3
"""Share of looks that repeat the value before to the last digit, from which repeats are held values and not
measured."""
NOISES = 6.0
SMALLEST_MOVE = 0.01
"""A loss moves if it falls by this many standard deviations of its noise and by this share of where it began."""


@dataclass(frozen=True)
class LossSource:
    """One finite loss over time, its noise, and whether it is measured from a known lower end (`excess`)."""

    series: Series
    noise: float
    excess: bool
    notes: tuple[str, ...]

    @property
    def moves(self) -> bool:
        """Whether the loss falls beyond its noise, and falls more than it rises before its lowest point."""
        if len(self.series.steps) < 2:
            return False
        curve = without_spikes(self.series.values[:, 0])
        first, lowest = float(self.series.values[0, 0]), int(np.argmin(curve))
        fall, rise = first - float(curve[lowest]), float(curve[: lowest + 1].max()) - first
        return fall > max(NOISES * self.noise, SMALLEST_MOVE * abs(first), rise)


def loss_source(trajectory: xr.Dataset) -> LossSource | str:
    """The loss to read, or why there is none."""
    steps = trajectory["step"].values.astype(float)
    if "excess_loss" in trajectory:
        return _source(steps, trajectory["excess_loss"].values, excess=True, notes=[])
    if "loss" not in trajectory:
        return "loss: the trajectory has neither excess_loss nor loss; this view is left out"
    names = [str(name) for name in trajectory["split"].values] if "split" in trajectory.coords else ["last"]
    measured = [i for i in range(len(names)) if np.isfinite(trajectory["loss"].isel(split=i).values).sum() > 1]
    if not measured:
        return "loss: no loss is finite at two looks; this view is left out"
    known = [names.index(name) for name in PREFERRED if name in names and names.index(name) in measured]
    split = known[0] if known else measured[-1]
    values = trajectory["loss"].isel(split=split).values.astype(float)
    times, error = steps, None
    if "loss_time" in trajectory:
        own = trajectory["loss_time"].isel(split=split).values.astype(float)
        times = np.where(np.isfinite(own), own, steps)
    if names[split] == "train" and "loss_spread" in trajectory and "loss_count" in trajectory:
        count = np.maximum(trajectory["loss_count"].isel(split=split).values, 1)
        error = trajectory["loss_spread"].isel(split=split).values / np.sqrt(count)
    note = f"loss: no excess_loss; the {names[split]} loss is read"
    return _source(times, values, excess=False, notes=[note], error=error)


def _source(
    times: np.ndarray, values: np.ndarray, *, excess: bool, notes: list[str], error: np.ndarray | None = None
) -> LossSource:
    series, lost = finite_series(times, values)
    unmeasured = int(np.isfinite(times).sum() - np.isfinite(values).sum()) if not excess else 0
    if len(lost) and (excess or unmeasured < len(times) / 2):
        notes = [*notes, f"loss: {len(lost)} evaluations are not finite and were left out"]
    if not excess:
        repeated = np.concatenate([[False], np.diff(series.values[:, 0]) == 0])
        if repeated.mean() >= HELD:
            series = Series(series.steps[~repeated], series.values[~repeated])
            notes = [*notes, f"loss: {int(repeated.sum())} looks repeat the value before and were left out"]
    noise = float(noise_level(series.values)[0]) if len(series.steps) else 0.0
    if error is not None and np.isfinite(error).any():
        noise = float(np.nanmedian(error))
    return LossSource(series, noise, excess, tuple(notes))
