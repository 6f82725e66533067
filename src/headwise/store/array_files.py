"""Trajectories that somebody kept as a netCDF file or a Zarr store, read without torch.

A run directory is the truth about a run: it has digests, a lock and the settings. These files are for handing a
trajectory on, as `trajectory.to_netcdf("run.nc")` writes it, so there is nothing to verify but names and
dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.variables import DIMENSIONS, VARIABLES
from headwise.store.given_source import source_kind

if TYPE_CHECKING:
    import xarray as xr

HDF5 = b"\x89HDF"
NETCDF_4 = ("netCDF4", "h5netcdf")
"""Packages of which one is needed for netCDF files of version 4; the older versions are read by scipy."""


def read_array_file(path: Path) -> xr.Dataset:
    """The trajectory in a netCDF file or a Zarr store."""
    import xarray as xr

    kind = source_kind(path)
    if not path.exists():
        raise ConfigError(f"{path} does not exist")
    if kind == "zarr":
        if find_spec("zarr") is None:
            raise ConfigError(f"{path} is a Zarr store, which needs the zarr package; pip install zarr")
        found = _opened(path, lambda: xr.open_zarr(path, consolidated=None))
    else:
        found = _opened(path, lambda: xr.open_dataset(path, engine=_netcdf_engine(path)))
    return _checked(found, path)


def _netcdf_engine(path: Path) -> Any:
    """scipy reads what begins with CDF; xarray chooses among what is installed for the rest."""
    with path.open("rb") as file:
        start = file.read(4)
    if start[:3] == b"CDF":
        return "scipy"
    if start == HDF5 and not any(find_spec(name) for name in NETCDF_4):
        raise ConfigError(f"{path} is netCDF 4, which needs {' or '.join(NETCDF_4)}; pip install {NETCDF_4[1]}")
    return None


def _opened(path: Path, read: Callable[[], xr.Dataset]) -> xr.Dataset:
    try:
        with read() as opened:
            return opened.load()
    except ConfigError:
        raise
    except (OSError, ValueError, TypeError, KeyError, EOFError, IndexError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ConfigError(f"{path} cannot be read as a trajectory: {reason[:200]}") from error


def _checked(found: xr.Dataset, path: Path) -> xr.Dataset:
    """Only trajectory variables, with their own dimensions in order, and text as text."""
    known = [
        str(name) for name in found.data_vars if str(name) in VARIABLES and VARIABLES[str(name)].source != "detector"
    ]
    if not known:
        raise ConfigError(f"{path} holds no trajectory: none of its variables is one of docs/variables.md")
    kept = found[known]
    for name in known:
        wanted = VARIABLES[name].dimensions
        if set(kept[name].dims) != set(wanted):
            given = ", ".join(map(str, kept[name].dims))
            raise ConfigError(f"{path}: {name} has dimensions ({given}), a trajectory has ({', '.join(wanted)})")
        kept[name] = kept[name].transpose(*wanted)
    for dim in kept.sizes:
        entries = DIMENSIONS[str(dim)].entries
        if entries == "names" and dim in kept.coords:
            kept = kept.assign_coords({dim: [_text(value) for value in kept[dim].values]})
        elif entries in ("counted from one", "numbers") and dim in kept.coords:
            kept = kept.assign_coords({dim: np.asarray(kept[dim].values).astype(int)})
    kept.attrs = {key: value.item() if isinstance(value, np.generic) else value for key, value in found.attrs.items()}
    return kept


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
