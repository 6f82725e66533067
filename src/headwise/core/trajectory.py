"""The one form in which every history of attention heads is kept: an `xarray.Dataset` with the names of `variables`.

A transformer in training, the paper's differential equations and somebody's own model all become a Trajectory, and
what reads one never asks where it came from. Lag = predicted position minus key position: the query's own token is
lag 1, everywhere; encoders use lags of zero and below for what lies ahead. Heads, blocks and groups count from 1.

A flow's `step` is its time. Seeds stack along `seed`, which is then the first dimension of every variable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.foreign_text import parse_json
from headwise.core.variables import DIMENSIONS, variable

if TYPE_CHECKING:
    import xarray as xr


def assemble(
    variables: Mapping[str, np.ndarray],
    coordinates: Mapping[str, Sequence[Any] | np.ndarray],
    attributes: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Name plain arrays: check each against its row of `variables`, count from one what has no coordinate of its own.

    `attributes` may hold anything JSON can; lists and mappings (`groups`: the lags of each group, `alpha`: their
    weights) are kept as JSON text because Dataset attributes must stay plain. Read them with `attribute`.
    """
    import xarray as xr

    sizes: dict[str, int] = {}
    arrays: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
    for name, values in variables.items():
        dims, array = variable(name).dimensions, np.asarray(values)
        if array.ndim != len(dims):
            raise ConfigError(f"{name} needs dimensions {dims}, got an array of shape {array.shape}")
        for dim, size in zip(dims, array.shape, strict=True):
            if sizes.setdefault(dim, size) != size:
                raise ConfigError(f"{name} has {size} along {dim}, other variables have {sizes[dim]}")
        arrays[name] = (dims, array)
    coords: dict[str, Any] = {d: np.asarray(c) for d, c in coordinates.items() if d in sizes}
    for dim, size in sizes.items():
        if DIMENSIONS[dim].entries == "counted from one" and dim not in coords:
            coords[dim] = np.arange(1, size + 1)
    attrs = {k: v if isinstance(v, str | int | float) else json.dumps(v) for k, v in (attributes or {}).items()}
    return xr.Dataset(arrays, coords=coords, attrs=attrs)


def attribute(trajectory: xr.Dataset, name: str) -> Any:
    """An attribute as it was given to `assemble`, or `None` where the source had none."""
    value = trajectory.attrs.get(name)
    if isinstance(value, str):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value


def check_record(record: Mapping[str, np.ndarray]) -> None:
    """What was measured at one step has rows in the table and their dimensions but for the step: found at the first
    evaluation, not when the run is read back.
    """
    for name, values in record.items():
        dims = variable(name).dimensions[1:]
        if np.ndim(values) != len(dims):
            raise ConfigError(f"{name} at one step needs dimensions {dims}, got an array of shape {np.shape(values)}")


def stack_seeds(trajectories: Sequence[xr.Dataset], seeds: Sequence[int]) -> xr.Dataset:
    """Several runs of one experiment as one Dataset; `seed` comes before every variable's own dimensions."""
    import xarray as xr

    runs = list(trajectories)
    names = sorted({str(name) for run in runs for name in run.data_vars})
    if missing := [name for name in names if any(name not in run for run in runs)]:
        raise ConfigError(f"these runs cannot be stacked: not all of them hold {missing[0]}")
    for dim in DIMENSIONS:
        entries = [run[dim].values.tolist() if dim in run.coords else run.sizes.get(dim) for run in runs]
        if any(own != entries[0] for own in entries):
            raise ConfigError(f"these runs cannot be stacked: their entries along {dim} differ")
    joined = xr.concat(runs, dim="seed", join="exact", combine_attrs="drop_conflicts")
    ordered = {name: joined[name].transpose("seed", *variable(name).dimensions) for name in names}
    return joined.assign(ordered).assign_coords(seed=np.asarray(seeds))


def attention_by_group(
    attention_by_lag: np.ndarray, lags: Sequence[int], groups: Sequence[Sequence[int]]
) -> np.ndarray:
    """Attention mass on each group: the sum over its lags. Overlapping groups count a shared lag in each."""
    column = {lag: i for i, lag in enumerate(lags)}
    return np.stack([attention_by_lag[..., [column[lag] for lag in group]].sum(-1) for group in groups], axis=-1)


def head_overlap(attention_by_lag: np.ndarray) -> np.ndarray:
    """Shared attention of each pair of heads, sum over lags of the smaller share: 1 the same pattern, 0 disjoint."""
    return np.asarray(np.minimum(attention_by_lag[..., :, None, :], attention_by_lag[..., None, :, :]).sum(-1))
