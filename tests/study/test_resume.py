"""A run killed at any moment and started again ends bit for bit like one never stopped."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import tiny

from headwise.core.errors import Interrupted
from headwise.store import RunDirectory
from headwise.store.documents import json_file
from headwise.store.files import remove, write_once
from headwise.study.run_location import run_location
from headwise.study.runner import execute

CASES = list(itertools.product(("AdamW", "SGD"), ("minimal", "full"), ("constant", "plateau")))


def config(optimiser: str, model: str, schedule: str, **updates: object):
    return tiny(
        model,
        **{
            "train__optimizer": optimiser,
            "train__momentum": 0.9 if optimiser == "SGD" else 0.0,
            "train__lr": 1.0,
            "train__steps": 30,
            "train__schedule": schedule,
            "train__patience": 0,
            **updates,
        },
    )


def content(run: RunDirectory) -> dict[str, object]:
    """Everything a run computed: weights, optimiser and schedule state, every metric and snapshot."""
    checkpoint = run.latest_checkpoint()
    metrics, snapshots = run.read_metrics(), run.read_snapshots()
    arrays = {f"checkpoint.{k}": v for k, v in checkpoint.arrays.items()}
    arrays |= {f"metrics.{k}": v for k, v in metrics.variables.items()}
    arrays |= {f"snapshots.{k}": v for k, v in snapshots.variables.items()}
    return {
        "state": checkpoint.state,
        "steps": metrics.steps.tolist(),
        "snapshot_steps": snapshots.steps.tolist(),
        "bytes": {k: (v.shape, v.tobytes()) for k, v in arrays.items()},
    }


def assert_same(a: RunDirectory, b: RunDirectory) -> None:
    left, right = content(a), content(b)
    assert left["steps"] == right["steps"]
    assert left["snapshot_steps"] == right["snapshot_steps"]
    assert left["state"] == right["state"]
    assert left["bytes"].keys() == right["bytes"].keys()
    for name, value in left["bytes"].items():
        assert value == right["bytes"][name], name


@pytest.mark.parametrize(("optimiser", "model", "schedule"), CASES)
def test_interrupted_again_and_again(optimiser: str, model: str, schedule: str, tmp_path: Path) -> None:
    """Stopped at every second step, resumed as often, in one process."""
    wanted = config(optimiser, model, schedule)
    whole = execute(wanted, tmp_path / "whole")
    interruptions = 0
    while True:
        calls = itertools.count()
        try:
            parts = execute(wanted, tmp_path / "parts", stop_asked=lambda calls=calls: next(calls) >= 1)
            break
        except Interrupted:
            interruptions += 1
    assert interruptions >= wanted.train.steps // 2 - 1
    assert_same(whole, parts)
    if schedule == "plateau":
        rates = whole.read_metrics().variables["learning_rate"]
        assert rates[-1] < rates[0], "the schedule never acted, so this case tests nothing"


def killed_and_resumed(wanted, out: Path, kills: int, rng: random.Random, longest: float) -> int:
    """Run the command in a child, SIGKILL it at random moments; returns how many kills hit a live run."""
    path = out / "config.json"
    out.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(wanted.model_dump(mode="json")))
    program = (
        "import json, sys; from headwise.core.config import validated; from headwise.study.config import RunConfig;"
        "from headwise.study.runner import execute;"
        f"execute(validated(RunConfig, json.load(open({str(path)!r}))), {str(out / 'runs')!r})"
    )
    hits = 0
    for _ in range(kills):
        child = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "OMP_NUM_THREADS": "1"})
        manifest = run_location(wanted, out / "runs") / "manifest.json"
        lock = manifest.with_name("config.json")
        waited = time.monotonic()
        while not lock.exists() and child.poll() is None and time.monotonic() - waited < 120:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, longest))
        if child.poll() is None:
            child.send_signal(signal.SIGKILL)
            hits += 1
        child.wait()
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return hits


def test_killed_three_times(tmp_path: Path) -> None:
    wanted = config("AdamW", "full", "plateau", train__steps=150, train__checkpoint_every=10)
    whole = execute(wanted, tmp_path / "whole")
    killed_and_resumed(wanted, tmp_path / "killed", 3, random.Random(0), 0.5)
    assert_same(whole, RunDirectory(run_location(wanted, tmp_path / "killed" / "runs")))


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(("optimiser", "model", "schedule"), CASES)
def test_killed_twenty_times(optimiser: str, model: str, schedule: str, tmp_path: Path) -> None:
    wanted = config(optimiser, model, schedule, train__steps=2000, train__checkpoint_every=10)
    whole = execute(wanted, tmp_path / "whole")
    hits = killed_and_resumed(wanted, tmp_path / "killed", 20, random.Random(1), 1.0)
    assert hits >= 10, f"only {hits} kills hit a live run: make it longer"
    assert_same(whole, RunDirectory(run_location(wanted, tmp_path / "killed" / "runs")))


def test_begun_before_a_setting_existed(tmp_path: Path) -> None:
    wanted = config("AdamW", "minimal", "constant")
    straight = execute(wanted, tmp_path / "straight")
    steps = itertools.count()
    with pytest.raises(Interrupted):
        execute(wanted, tmp_path / "stopped", stop_asked=lambda: next(steps) == 5)
    run = RunDirectory(run_location(wanted, tmp_path / "stopped"))
    older = run.read_config()
    del older["measure"]["window_samples"]
    begun_with = json_file(older)
    header = replace(run.beginning.header(), config_sha256=hashlib.sha256(begun_with).hexdigest())
    for path, content in ((run.config_path, begun_with), (run.coordinates_path, header.encode())):
        remove(path)
        write_once(path, content)
    assert_same(execute(wanted, tmp_path / "stopped"), straight)


def test_denser_measurement_does_not_change_training(tmp_path: Path) -> None:
    sparse = config("AdamW", "full", "plateau")
    dense = config("AdamW", "full", "plateau", **{"measure__at__every": 1, "measure__snapshots__every": 2})
    a, b = execute(sparse, tmp_path), execute(dense, tmp_path)
    left, right = a.latest_checkpoint(), b.latest_checkpoint()
    assert left.state == right.state
    for name in left.arrays:
        assert left.arrays[name].tobytes() == right.arrays[name].tobytes(), name
    few, many = a.read_metrics(), b.read_metrics()
    common = np.isin(many.steps, few.steps)
    for name, values in few.variables.items():
        assert np.array_equal(values, many.variables[name][common], equal_nan=True), name


def test_streams_are_independent(tmp_path: Path) -> None:
    """Another initialisation leaves task and data alone; another data seed leaves the task alone."""
    from headwise.study.prepared_run import PreparedRun

    base = PreparedRun(tiny(), {})
    init = PreparedRun(tiny(**{"seeds__init": 7}), {})
    data = PreparedRun(tiny(**{"seeds__data": 7}), {})
    assert np.array_equal(base.task.features, init.task.features)
    assert np.array_equal(base.test, init.test)
    assert np.array_equal(base.rows(5)[0], init.rows(5)[0])
    assert np.array_equal(base.task.features, data.task.features)
    assert not np.array_equal(base.test, data.test)
    weights = [next(run.engine.decoder.parameters()).detach().numpy() for run in (base, init, data)]
    assert not np.array_equal(weights[0], weights[1])
    assert np.array_equal(weights[0], weights[2])
