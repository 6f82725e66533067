"""Trackers with the real packages, read back by their own readers, and exports read back by other libraries."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from tests.conftest import tiny
from torch import nn

import headwise
from headwise.cli.main import main
from headwise.core.errors import ConfigError

TOKENS = torch.randn(3, 6, 8, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    headwise.train(tiny(), out=out, progress="off", metrics={"half": lambda look: look.step / 2})
    [path] = (out / "minimal").iterdir()
    return path


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but this machine is spoken to."""
    honest = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> Any:
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a connection to {address}")
        return honest(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    for name in ("WANDB_MODE", "MLFLOW_TRACKING_URI", "TRACKIO_DIR"):
        monkeypatch.delenv(name, raising=False)


def watched(tracker: Any) -> xr.Dataset:
    model = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True)
    with tracker, headwise.watch(model, tokens=TOKENS, every=2, on_look=tracker) as w:
        for step in range(4):
            w.step(float(step))
    return w.trajectory


def test_tensorboard_reads_what_a_watch_sent(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = watched(headwise.Tracker("tensorboard", folder=tmp_path, name="mine"))
    events = EventAccumulator(str(tmp_path / "headwise" / "mine"))
    events.Reload()
    entropy = [(e.step, e.value) for e in events.Scalars("attention_entropy/L0H1")]
    assert [step for step, _ in entropy] == [0, 2, 4]
    assert np.allclose([value for _, value in entropy], found["attention_entropy"][:, 0, 1])
    assert [e.value for e in events.Scalars("loss/train")] == [0.5, 2.5]


def test_mlflow_reads_what_was_exported(run: Path, tmp_path: Path) -> None:
    import mlflow

    headwise.export(run, "mlflow", output=tmp_path)
    client = mlflow.tracking.MlflowClient(tracking_uri=(tmp_path / "mlruns").resolve().as_uri())
    [kept] = client.search_runs([client.get_experiment_by_name("headwise").experiment_id])
    history = client.get_metric_history(kept.info.run_id, "metrics/half")
    assert sorted((m.step, m.value) for m in history) == [(step, step / 2) for step in (0, 3, 6, 9, 12)]
    assert kept.info.status == "FINISHED"


def test_wandb_is_offline_and_has_every_step(run: Path, tmp_path: Path) -> None:
    headwise.export(run, "wandb", output=tmp_path)
    [kept] = (tmp_path / "wandb").glob("offline-run-*")
    from wandb.proto import wandb_internal_pb2

    def values() -> list[tuple[int, float]]:
        found = []
        for record in leveldb_records(next(kept.glob("*.wandb")).read_bytes()):
            parsed = wandb_internal_pb2.Record()
            parsed.ParseFromString(record)
            items = {"/".join(i.nested_key) or i.key: json.loads(i.value_json) for i in parsed.history.item}
            if "metrics/half" in items:
                found.append((items["headwise/step"], items["metrics/half"]))
        return found

    wanted = [(step, step / 2) for step in (0, 3, 6, 9, 12)]
    deadline = time.monotonic() + 60
    while values() != wanted and time.monotonic() < deadline:
        time.sleep(0.2)  # a process of wandb's own brings it to disk
    assert values() == wanted


def leveldb_records(content: bytes) -> Iterator[bytes]:
    """The records of a file in LevelDB's log format: blocks of 32 KiB, each chunk with checksum, length and kind."""
    place, whole = 7, b""
    while place + 7 <= len(content):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        length, kind = int.from_bytes(content[place + 4 : place + 6], "little"), content[place + 6]
        whole += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            yield whole
            whole = b""


def test_trackio_keeps_its_numbers_here(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    program = """
import socket, sys
here, honest = ("127.0.0.1", "::1", "localhost"), socket.socket.connect
def connect(self, address):
    if isinstance(address, tuple) and address[0] not in here: print("A CONNECTION TO", address, file=sys.stderr)
    return honest(self, address)
socket.socket.connect = connect
import headwise
headwise.export(sys.argv[1], "trackio", output=sys.argv[2])
"""
    call = [sys.executable, "-c", program, str(run), str(tmp_path)]
    said = subprocess.run(call, check=True, capture_output=True, text=True).stderr
    assert "A CONNECTION TO" not in said
    [database] = tmp_path.rglob("headwise*.db")
    with sqlite3.connect(database) as kept:
        rows = kept.execute("select step, metrics from metrics order by step").fetchall()
    found = [(step, json.loads(text)["metrics/half"]) for step, text in rows]
    assert found == [(step, step / 2) for step in (0, 3, 6, 9, 12)]


def test_netcdf_and_parquet_hold_every_number(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trajectory = headwise.load(run)
    assert main(["export", str(run), "--to", "netcdf", "-o", str(tmp_path / "run.nc"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"to": "netcdf", "output": str(tmp_path / "run.nc"), "steps": 5}
    assert headwise.load(tmp_path / "run.nc").equals(trajectory)
    with xr.open_dataset(tmp_path / "run.nc", engine="scipy") as plain:
        assert np.array_equal(plain["attention_map"], trajectory["attention_map"])
    headwise.export(run, "parquet", output=tmp_path / "run.parquet")
    table = pd.read_parquet(tmp_path / "run.parquet")
    assert len(table) == sum(values.size for values in trajectory.data_vars.values())
    part = table[(table.variable == "attention_by_lag") & (table.step == 6) & (table["head"] == 2) & (table.lag == 3)]
    assert part.value.tolist() == [float(trajectory["attention_by_lag"].sel(step=6, head=2, lag=3, block=1))]
    assert set(table[table.variable == "metrics"].metric) == {"half"}


@pytest.mark.parametrize("kind", ["netcdf", "zarr"])
def test_every_reader_takes_such_a_file(
    run: Path, tmp_path: Path, kind: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"run.{'nc' if kind == 'netcdf' else 'zarr'}"
    headwise.export(run, kind, output=file)
    assert headwise.load(file).equals(headwise.load(run))
    for words in (
        ["show", str(file)],
        ["show", str(file), "--figure", str(tmp_path / "figure.png")],
        ["phases", str(file)],
        ["report", str(file), "-o", str(tmp_path / "page.html")],
        ["export", str(file), "--to", "parquet", "-o", str(tmp_path / "again.parquet")],
    ):
        assert main(words) == 0, (words, capsys.readouterr().err)
    if kind == "zarr":
        with pytest.raises(ConfigError, match="is there already; remove it or choose another"):
            headwise.export(run, kind, output=file)


def test_mistakes_are_one_sentence(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'netcfd' must be .*; did you mean netcdf\?"):
        headwise.export(run, "netcfd")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="variable 'los' is unknown; did you mean loss"):
        headwise.Tracker("wandb", variables=["los"])
