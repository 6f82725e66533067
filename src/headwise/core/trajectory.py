"""The one form in which every history of attention heads is kept: an `xarray.Dataset` with these names.

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

if TYPE_CHECKING:
    import xarray as xr

DIMENSIONS: dict[str, tuple[str, ...]] = {
    "excess_loss": ("step",),
    "loss": ("step", "split"),
    "kl": ("step", "predictor"),
    "kl_reverse": ("step", "predictor"),
    "attention_by_lag": ("step", "block", "head", "lag"),
    "attention_by_group": ("step", "block", "head", "group"),
    "attention_entropy": ("step", "block", "head"),
    "attention_concentration": ("step", "block", "head"),
    "attention_on": ("step", "block", "head", "place"),
    "attention_map": ("snapshot", "block", "head", "query", "key"),
    "value_alignment": ("step", "block", "head", "group"),
    "value_cosine": ("step", "block", "head", "group"),
    "value_coefficient": ("step", "block", "head", "group"),
    "head_overlap": ("step", "block", "head", "head2"),
    "write_alignment": ("step", "block", "head", "head2"),
    "learning_rate": ("step",),
    "loss_part": ("step", "feature", "position"),
}
"""Every trajectory variable and its dimensions; a source fills those it can."""

COUNTED_FROM_ONE = ("block", "head", "head2", "group", "feature", "position")


def assemble(
    variables: Mapping[str, np.ndarray],
    coordinates: Mapping[str, Sequence[Any] | np.ndarray],
    attributes: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Name plain arrays: check each against `DIMENSIONS`, count from one what has no coordinate of its own.

    `attributes` may hold anything JSON can; lists and mappings (`groups`: the lags of each group, `alpha`: their
    weights) are kept as JSON text because Dataset attributes must stay plain. Read them with `attribute`.
    """
    import xarray as xr

    sizes: dict[str, int] = {}
    arrays: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
    for name, values in variables.items():
        if name not in DIMENSIONS:
            raise ConfigError(f"unknown trajectory variable {name!r}; known: {', '.join(DIMENSIONS)}")
        dims, array = DIMENSIONS[name], np.asarray(values)
        if array.ndim != len(dims):
            raise ConfigError(f"{name} needs dimensions {dims}, got an array of shape {array.shape}")
        for dim, size in zip(dims, array.shape, strict=True):
            if sizes.setdefault(dim, size) != size:
                raise ConfigError(f"{name} has {size} along {dim}, other variables have {sizes[dim]}")
        arrays[name] = (dims, array)
    coords: dict[str, Any] = {d: np.asarray(c) for d, c in coordinates.items() if d in sizes}
    for dim, size in sizes.items():
        if dim in COUNTED_FROM_ONE and dim not in coords:
            coords[dim] = np.arange(1, size + 1)
    attrs = {k: v if isinstance(v, str | int | float) else json.dumps(v) for k, v in (attributes or {}).items()}
    return xr.Dataset(arrays, coords=coords, attrs=attrs)


def attribute(trajectory: xr.Dataset, name: str) -> Any:
    """An attribute as it was given to `assemble`, or `None` where the source had none."""
    value = trajectory.attrs.get(name)
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def stack_seeds(trajectories: Sequence[xr.Dataset], seeds: Sequence[int]) -> xr.Dataset:
    """Several runs of one experiment as one Dataset with a leading `seed` dimension."""
    import xarray as xr

    joined = xr.concat(list(trajectories), dim="seed", join="exact", combine_attrs="drop_conflicts")
    return joined.assign_coords(seed=np.asarray(seeds))


def attention_by_group(
    attention_by_lag: np.ndarray, lags: Sequence[int], groups: Sequence[Sequence[int]]
) -> np.ndarray:
    """Attention mass on each group: the sum over its lags. Overlapping groups count a shared lag in each."""
    column = {lag: i for i, lag in enumerate(lags)}
    return np.stack([attention_by_lag[..., [column[lag] for lag in group]].sum(-1) for group in groups], axis=-1)


def head_overlap(attention_by_lag: np.ndarray) -> np.ndarray:
    """Shared attention of each pair of heads, sum over lags of the smaller share: 1 the same pattern, 0 disjoint."""
    return np.asarray(np.minimum(attention_by_lag[..., :, None, :], attention_by_lag[..., None, :, :]).sum(-1))
