"""What a person gives where a run is wanted: a run directory, a pattern of names, a netCDF file or a Zarr store.

Shells write patterns out; Python, and a pattern in quotes, come here as they are. A name that exists is never taken
for a pattern.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Literal

from headwise.core.errors import ConfigError
from headwise.core.given_path import given_path
from headwise.core.system_errors import exists, is_directory

MOST_NAMED = 3
SUFFIXES = {".nc": "netcdf", ".nc4": "netcdf", ".cdf": "netcdf", ".netcdf": "netcdf", ".zarr": "zarr"}

Kind = Literal["directory", "netcdf", "zarr"]


def source_kind(path: Path) -> Kind:
    """Which reader a path is for, by its name and, for a Zarr store of another name, by the files in it."""
    named = SUFFIXES.get(path.suffix.lower())
    if named == "netcdf" and not is_directory(path):
        return "netcdf"
    if named == "zarr" or any(exists(path / name) for name in ("zarr.json", ".zgroup", ".zmetadata")):
        return "zarr"
    return "directory"


def given_source(given: Path | str) -> Path:
    """The one run, file or store that is meant; `ConfigError` where a pattern fits none or several."""
    found = given_sources(given)
    if len(found) > 1:
        more = len(found) - MOST_NAMED
        names = ", ".join(map(str, found[:MOST_NAMED])) + (f" and {more} more" if more > 0 else "")
        raise ConfigError(f"{given} fits {len(found)} runs, and one is wanted: {names}")
    return found[0]


def given_sources(given: Path | str) -> list[Path]:
    """All that is meant: the path itself, or everything that a pattern fits, in order of name."""
    if not isinstance(given, str | os.PathLike):
        kind = type(given).__name__
        raise ConfigError(f"a run is given by its path, got a {kind}; give a run directory, a netCDF or a Zarr file")
    path = given_path(os.fspath(given))
    if os.path.lexists(path) or not glob.has_magic(str(path)):
        return [path]
    found = sorted(Path(name) for name in glob.glob(str(path)))
    usable = [one for one in found if is_directory(one) or source_kind(one) != "directory"]
    if not usable:
        raise ConfigError(f"{path} fits no run; `headwise list --runs DIR` shows the runs")
    return usable
