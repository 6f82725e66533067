"""What `load` takes: run directories, patterns that fit one, netCDF files, Zarr stores; the rest is one sentence."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import headwise
from headwise.core.errors import ConfigError
from headwise.store.given_source import given_source, given_sources


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        headwise.keep_flow(headwise.FlowConfig(T=5, t_end=3.0), seed, out=out)
    return out


def test_a_pattern_that_fits_one_run_is_that_run(runs: Path) -> None:
    [path] = (runs / "flow").glob("*-s1")
    assert headwise.load(f"{runs}/flow/*-s1").identical(headwise.load(path))
    with pytest.raises(ConfigError, match=re.escape(f"{runs}/flow/*-s? fits 2 runs, and one is wanted: ")):
        headwise.load(f"{runs}/flow/*-s?")
    with pytest.raises(ConfigError, match="fits no run"):
        headwise.load(f"{runs}/flow/*-s9")
    assert len(given_sources(f"{runs}/flow/*")) == 2


def test_a_name_that_exists_is_no_pattern(tmp_path: Path) -> None:
    strange = tmp_path / "run[1]*"
    strange.mkdir()
    (tmp_path / "run1").mkdir()
    assert given_source(strange) == strange


def test_a_netcdf_file_gives_the_trajectory_back(runs: Path, tmp_path: Path) -> None:
    trajectory = headwise.load(f"{runs}/flow/*-s0")
    file = tmp_path / "flow.nc"
    trajectory.to_netcdf(file, engine="scipy")
    back = headwise.load(file)
    assert set(back.data_vars) == set(trajectory.data_vars)
    for name in trajectory.data_vars:
        assert back[name].dims == trajectory[name].dims
        assert np.array_equal(back[name].values, trajectory[name].values, equal_nan=True)
    assert back.attrs == trajectory.attrs
    assert str(headwise.detect(back)) == str(headwise.detect(trajectory))
    assert headwise.show(file).status == "file"


def test_files_that_are_no_trajectory_are_refused_in_one_sentence(tmp_path: Path) -> None:
    other = tmp_path / "other.nc"
    xr.Dataset({"temperature": ("day", [1.0, 2.0])}).to_netcdf(other, engine="scipy")
    with pytest.raises(ConfigError, match="holds no trajectory"):
        headwise.load(other)
    turned = tmp_path / "turned.nc"
    xr.Dataset({"excess_loss": ("day", [1.0, 2.0])}).to_netcdf(turned, engine="scipy")
    with pytest.raises(ConfigError, match=r"excess_loss has dimensions \(day\), a trajectory has \(step\)"):
        headwise.load(turned)
    for name, content in (("torn.nc", b"CDF\x01\x00"), ("text.nc", b"hello there"), ("empty.nc", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ConfigError, match="cannot be read as a trajectory") as caught:
            headwise.load(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match="does not exist"):
        headwise.load(tmp_path / "absent.nc")


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) for name in ("netCDF4", "h5netcdf")), reason="a reader of netCDF 4 is installed"
)
def test_netcdf_4_without_its_reader_says_what_to_install(tmp_path: Path) -> None:
    file = tmp_path / "new.nc"
    file.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(ConfigError, match="is netCDF 4, which needs netCDF4 or h5netcdf; pip install h5netcdf"):
        headwise.load(file)


def test_a_zarr_store_is_read_where_zarr_is_installed(runs: Path, tmp_path: Path) -> None:
    store = tmp_path / "flow.zarr"
    if importlib.util.find_spec("zarr") is None:
        store.mkdir()
        with pytest.raises(ConfigError, match="is a Zarr store, which needs the zarr package; pip install zarr"):
            headwise.load(store)
        return
    trajectory = headwise.load(f"{runs}/flow/*-s0")
    trajectory.to_zarr(store)
    back = headwise.load(store)
    for name in trajectory.data_vars:
        assert np.array_equal(back[name].values, trajectory[name].values, equal_nan=True)


@pytest.mark.parametrize("given", [3, None, xr.Dataset(), ["a", "b"]])
def test_what_is_no_path_is_refused_in_one_sentence(given: object) -> None:
    with pytest.raises(ConfigError, match="a run is given by its path, got a"):
        headwise.load(given)  # type: ignore[arg-type]
