"""A run directory from start to end: segments, checkpoints, recovery, discarding, status, log, manifest, trajectory."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headwise.core.errors import ConfigError, CorruptData
from headwise.core.trajectory import attribute
from headwise.store import (
    OnDamage,
    RunDirectory,
    RunIdentity,
    check_writable,
    describe_run,
    list_runs,
    load_trajectory,
    run_path,
    run_status,
    steps_done,
)
from headwise.store.files import remove, sidecar, write_once
from headwise.store.histories import History, ParquetCodec
from headwise.store.links import encode_link
from headwise.store.log import append_event
from headwise.store.manifest import source_commit

COORDINATES = {"predictor": ["prefix_1", "prefix_2"], "lag": [1, 2, 3], "query": [4, 5], "key": [1, 2, 3, 4, 5]}
ATTRIBUTES = {"groups": [[1], [2, 3]], "alpha": [[1.0], [0.5, 0.5]], "seed": 3, "experiment": "minimal"}
CONFIG = {"model": {"heads": 3}}


def identity(seed: int = 3) -> RunIdentity:
    return RunIdentity(CONFIG, seed)


def place(root: Path, seed: int = 3) -> Path:
    return run_path(root, experiment="minimal", config_hash=identity().config_hash, seed=seed)


def begin(run: RunDirectory, *, seed: int = 3, on_damage: OnDamage = "refuse") -> None:
    run.start(CONFIG, identity=identity(seed), coordinates=COORDINATES, attributes=ATTRIBUTES, on_damage=on_damage)


def end(run: RunDirectory, status: str = "finished") -> None:
    run.finish({"status": status, "steps": max(run.metrics.ends())})


def metrics_at(steps: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "excess_loss": np.exp(-0.01 * steps),
        "kl": np.outer(steps, [1.0, 2.0]),
        "attention_by_lag": np.arange(len(steps) * 6.0).reshape(-1, 1, 2, 3) + steps[:, None, None, None],
    }


def write_interval(run: RunDirectory, until: int, *, length: int = 10) -> None:
    """Two evaluations and one snapshot in each interval, then the checkpoint."""
    steps = np.array([until - length // 2, until])
    run.write_metrics(until, steps=steps, variables=metrics_at(steps))
    run.write_snapshots(until, steps=[until], variables={"attention_map": np.full((1, 1, 2, 2, 5), float(until))})
    run.write_checkpoint(until, arrays={"weights": np.full(3, until)}, state={"best": 0.1 * until})


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is durable and when is tested with the files; here it would only cost time."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunDirectory]:
    """Three intervals of ten steps, still being written."""
    run = RunDirectory(place(tmp_path))
    with run.writing():
        begin(run)
        for until in (10, 20, 30):
            write_interval(run, until)
        yield run


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(content)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def lose_sidecar(path: Path) -> None:
    sidecar(path).unlink()


DAMAGES = [flip_a_bit, truncate, lose_sidecar]


def test_metrics_are_joined_in_order(run: RunDirectory) -> None:
    history = run.read_metrics()
    steps = np.array([5, 10, 15, 20, 25, 30])
    np.testing.assert_array_equal(history.steps, steps)
    np.testing.assert_array_equal(history.variables["kl"], np.outer(steps, [1.0, 2.0]))
    assert history.variables["attention_by_lag"].shape == (6, 1, 2, 3)


def test_a_run_without_segments_has_an_empty_history(tmp_path: Path) -> None:
    history = RunDirectory(tmp_path / "none").read_metrics()
    assert history.steps.shape == (0,)
    assert history.variables == {}


def test_names_sort_beyond_eight_digits(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    with run.writing():
        begin(run)
        for step in (99_999_999, 100_000_000):
            run.write_metrics(step, steps=[step], variables={"excess_loss": [0.0]})
    assert run.read_metrics().steps.tolist() == [99_999_999, 100_000_000]


def test_an_interval_without_measurements_leaves_no_segment(run: RunDirectory) -> None:
    run.write_metrics(40, steps=[], variables={"excess_loss": np.zeros(0)})
    run.write_checkpoint(40, arrays={}, state={})
    assert run.metrics.ends() == [10, 20, 30]
    found = run.latest_checkpoint()
    assert found is not None
    assert found.step == 40


@pytest.mark.parametrize(
    ("until", "steps", "values"),
    [
        (40, [35, 35], [0.0, 0.0]),
        (40, [36, 35], [0.0, 0.0]),
        (40, [30, 35], [0.0, 0.0]),
        (40, [41], [0.0]),
        (40, [35], [0.0, 0.0]),
        (40, [35], 0.0),
        (40, [[35]], [0.0]),
        (40, [math.nan], [0.0]),
        (25, [22], [0.0]),
        (-1, [-1], [0.0]),
    ],
)
def test_steps_doubled_or_out_of_order_are_not_written(run: RunDirectory, until: int, steps: Any, values: Any) -> None:
    before = sorted(file.name for file in run.path.iterdir())
    with pytest.raises(ValueError, match="step"):
        run.write_metrics(until, steps=steps, variables={"excess_loss": values})
    assert sorted(file.name for file in run.path.iterdir()) == before


def write_segment(run: RunDirectory, until: int, history: History) -> None:
    """A segment that no writer would write, in the right place of the chain."""
    previous = encode_link(run.metrics.newest(until - 1))
    metadata = {"identity": identity().digest, "previous": previous, "until": until}
    write_once(run.metrics.path(until), ParquetCodec().encode(history, metadata))


def test_steps_doubled_on_disk_are_noticed(run: RunDirectory) -> None:
    write_segment(run, 40, History(np.array([30, 35]), metrics_at(np.array([30, 35]))))
    with pytest.raises(CorruptData, match="step 30 twice"):
        run.read_metrics()


def test_a_change_of_variables_on_disk_is_noticed(run: RunDirectory) -> None:
    write_segment(run, 40, History(np.array([35]), {"excess_loss": np.zeros(1)}))
    with pytest.raises(CorruptData, match="other variables"):
        run.read_metrics()


@pytest.mark.parametrize("until", [10, 20])
@pytest.mark.parametrize("kind", ["metrics", "snapshots"])
def test_a_lost_segment_is_noticed(run: RunDirectory, kind: str, until: int) -> None:
    chain = {"metrics": run.metrics, "snapshots": run.snapshots}[kind]
    remove(chain.path(until))
    with pytest.raises(CorruptData, match=kind):
        chain.read()
    with pytest.raises(CorruptData, match=kind):
        run.latest_checkpoint()


def test_a_lost_last_segment_is_noticed_by_checkpoint_and_manifest(run: RunDirectory) -> None:
    end(run)
    remove(run.metrics.path(30))
    with pytest.raises(CorruptData, match=re.escape(run.metrics.path(30).name)):
        run.latest_checkpoint()
    with pytest.raises(CorruptData, match=re.escape(run.metrics.path(30).name)):
        run.read_metrics()


def test_checkpoints_come_back_exactly(run: RunDirectory) -> None:
    state = {"best": math.inf, "rate": 0.1 + 0.2, "tiny": 5e-324, "passes": 3, "none": None, "list": [1, -0.0]}
    arrays = {"a.weight": np.random.default_rng(0).normal(size=(4, 3)), "rng": np.arange(9, dtype=np.uint8)}
    run.write_metrics(40, steps=[40], variables=metrics_at(np.array([40])))
    run.write_checkpoint(40, arrays=arrays, state=state)
    found = run.latest_checkpoint()
    assert found is not None
    assert found.step == 40
    assert found.state == state
    assert math.copysign(1.0, found.state["list"][1]) == -1.0
    for name, array in arrays.items():
        assert found.arrays[name].tobytes() == array.tobytes()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_named_and_skipped_only_if_asked(
    run: RunDirectory, damage: Callable[[Path], None]
) -> None:
    damage(run.checkpoints.path(30))
    with pytest.raises(CorruptData) as caught:
        run.latest_checkpoint()
    assert "checkpoint-00000030.safetensors" in str(caught.value)
    assert "--recover" in str(caught.value)
    assert "\n" not in str(caught.value)
    found = run.latest_checkpoint(on_damage="recover")
    assert found is not None
    assert found.step == 20
    assert found.state == {"best": 2.0}


@pytest.mark.parametrize("damage", [*DAMAGES, remove])
@pytest.mark.parametrize(("until", "resumed"), [(10, None), (20, 10), (30, 20)])
@pytest.mark.parametrize("kind", ["metrics", "snapshots"])
def test_recovery_goes_back_before_a_damaged_segment_and_the_run_becomes_whole(
    run: RunDirectory, kind: str, until: int, resumed: int | None, damage: Callable[[Path], None]
) -> None:
    before = {file.name: file.read_bytes() for file in run.data_files()}
    damage({"metrics": run.metrics, "snapshots": run.snapshots}[kind].path(until))
    with pytest.raises(CorruptData, match=kind):
        run.latest_checkpoint()
    found = run.latest_checkpoint(on_damage="recover")
    assert (found.step if found else None) == resumed
    run.discard_after(resumed if resumed is not None else -1)
    for again in range((resumed or 0) + 10, 40, 10):
        write_interval(run, again)
    run.verify()
    assert {file.name: file.read_bytes() for file in run.data_files()} == before


def test_a_checkpoint_under_the_name_of_another_step_is_refused(run: RunDirectory) -> None:
    write_once(run.checkpoints.path(40), run.checkpoints.path(30).read_bytes())
    with pytest.raises(CorruptData, match="checkpoint of step 30"):
        run.latest_checkpoint()


def test_discarding_drops_everything_later_and_the_end(run: RunDirectory) -> None:
    end(run)
    run.discard_after(10)
    assert run.read_metrics().steps.tolist() == [5, 10]
    assert run.read_snapshots().steps.tolist() == [10]
    assert run.checkpoints.steps() == [10]
    assert run.read_manifest() is None
    leftovers = {file.name for file in run.path.iterdir() if "0002" in file.name or "0003" in file.name}
    assert leftovers == set()


def test_pruning_keeps_the_newest_and_the_milestones(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    with run.writing():
        begin(run)
        for step in range(0, 100, 10):
            run.write_checkpoint(step, arrays={}, state={})
        run.prune_checkpoints(keep_every=40)
        assert run.checkpoints.steps() == [0, 40, 80, 90]
        run.prune_checkpoints(keep_last=1)
        assert run.checkpoints.steps() == [90]
        with pytest.raises(ValueError, match="at least one"):
            run.prune_checkpoints(keep_last=0)
    assert not list(tmp_path.glob("checkpoint-00000010*"))


def test_writing_needs_the_lock(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    for write in (
        lambda: begin(run),
        lambda: run.write_metrics(1, steps=[1], variables={}),
        lambda: run.write_snapshots(1, steps=[1], variables={}),
        lambda: run.write_checkpoint(1, arrays={}, state={}),
        lambda: run.discard_after(0),
        run.prune_checkpoints,
        lambda: run.finish({"status": "finished", "steps": 0}),
        lambda: run.log("event"),
    ):
        with pytest.raises(RuntimeError, match="writing"):
            write()
    assert not run.path.exists()


def test_starting_again_is_the_same_run_or_an_error(run: RunDirectory) -> None:
    begin(run)
    assert run.read_config() == {"model": {"heads": 3}}
    with pytest.raises(ConfigError, match="another configuration"):
        run.start({"model": {"heads": 4}}, identity=identity(), coordinates=COORDINATES, attributes=ATTRIBUTES)
    another = RunIdentity({"model": {"heads": 4}}, 3)
    with pytest.raises(CorruptData, match=r"another run than the one asked for \(model\.heads is 3, not 4,"):
        run.start({"model": {"heads": 4}}, identity=another, coordinates=COORDINATES, attributes=ATTRIBUTES)


@pytest.mark.parametrize("lost", [False, True], ids=["all there", "config lost"])
def test_an_attribute_that_another_machine_rounds_otherwise_makes_no_other_run(tmp_path: Path, lost: bool) -> None:
    run = RunDirectory(place(tmp_path))

    def start(loss: float, on_damage: OnDamage = "refuse") -> None:
        computed = {**ATTRIBUTES, "teacher_loss": loss, "bayes": {"order 1": [loss]}}
        run.start(CONFIG, identity=identity(), coordinates=COORDINATES, attributes=computed, on_damage=on_damage)

    with run.writing():
        start(0.056208987914872076)
        before = run.coordinates_path.read_bytes()
        if lost:
            run.config_path.write_bytes(b"{}")
        start(0.05620898791487207, "recover" if lost else "refuse")
        assert run.coordinates_path.read_bytes() == before
        assert run.read_config() == CONFIG
        with pytest.raises(ConfigError, match="another configuration"):
            start(0.0562090)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_config_is_written_anew_if_asked(run: RunDirectory, damage: Callable[[Path], None]) -> None:
    damage(run.config_path)
    with pytest.raises(CorruptData, match=r"config\.json.*--recover"):
        begin(run)
    begin(run, on_damage="recover")
    assert run.read_config() == {"model": {"heads": 3}}


def test_a_run_ends_finished_or_diverged(run: RunDirectory) -> None:
    with pytest.raises(ValueError, match="finished or diverged"):
        run.finish({"status": "running", "steps": 30})
    end(run, "diverged")
    manifest = run.read_manifest()
    assert manifest is not None
    assert set(manifest["files"]) == {file.name for file in run.data_files()}
    assert len(manifest["files"]) == 11


def test_status_follows_the_run(tmp_path: Path) -> None:
    run = RunDirectory(place(tmp_path))
    with run.writing():
        begin(run)
        write_interval(run, 10)
        assert run_status(run.path) == "running"
    assert run_status(run.path, care="full") == "interrupted"
    with run.writing():
        end(run)
    assert run_status(run.path, care="full") == "finished"
    with run.writing():
        run.discard_after(10)
        end(run, "diverged")
    assert run_status(run.path, care="full") == "diverged"


@pytest.mark.parametrize("care", ["quick", "full"])
@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("metrics-00000010.parquet", lose_sidecar),
        ("metrics-00000010.parquet", truncate),
        ("metrics-00000010.parquet", Path.unlink),
        ("checkpoint-00000010.safetensors", truncate),
        ("config.json", flip_a_bit),
        ("config.json", Path.unlink),
        ("manifest.json", flip_a_bit),
    ],
)
def test_damage_shows_in_the_status(tmp_path: Path, name: str, damage: Callable[[Path], None], care: Any) -> None:
    run = RunDirectory(tmp_path)
    with run.writing():
        begin(run)
        write_interval(run, 10)
        end(run)
    damage(run.path / name)
    assert run_status(run.path, care=care) == "damaged"


def test_a_flipped_bit_in_a_large_file_shows_with_full_care(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    with run.writing():
        begin(run)
        write_interval(run, 10)
    flip_a_bit(run.checkpoints.path(10))
    assert run_status(run.path, care="full") == "damaged"


def test_a_finished_run_may_lose_its_checkpoints(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    with run.writing():
        begin(run)
        write_interval(run, 10)
        end(run)
        remove(run.checkpoints.path(10))
    assert run_status(run.path, care="full") == "finished"


def test_runs_are_listed_with_their_sizes(tmp_path: Path) -> None:
    for seed, ends in ((10, (10, 20)), (2, (10,))):
        run = RunDirectory(place(tmp_path, seed))
        with run.writing():
            begin(run, seed=seed)
            for until in ends:
                write_interval(run, until)
            if seed == 2:
                end(run)
    (tmp_path / "minimal" / "notes").mkdir()
    (tmp_path / "readme.txt").write_text("not a run")
    records = list_runs(tmp_path)
    assert [(r.experiment, r.config_hash, r.seed, r.status, r.steps) for r in records] == [
        ("minimal", identity().config_hash, 2, "finished", 10),
        ("minimal", identity().config_hash, 10, "interrupted", 20),
    ]
    for record in records:
        assert record.size_bytes == sum(file.stat().st_size for file in record.path.iterdir())
        assert steps_done(record.path) == record.steps
    with pytest.raises(ConfigError, match="not a directory"):
        list_runs(tmp_path / "nowhere")


def test_the_log_survives_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    append_event(path, "started", {"seed": 3})
    with open(path, "ab") as file:
        file.write(b'{"event": "half')
    append_event(path, "diverged", {"loss": math.nan})
    run = RunDirectory(tmp_path)
    events = run.read_log()
    assert [event["event"] for event in events] == ["started", "diverged"]
    assert events[0]["seed"] == 3
    assert events[1]["loss"] == "nan"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", events[0]["time"])
    with pytest.raises(ValueError, match="time"):
        append_event(path, "x", {"time": 1})


def test_the_manifest_says_what_ran(tmp_path: Path) -> None:
    about = describe_run(
        status="finished",
        steps=10,
        device="cpu",
        threads=1,
        argv=["headwise", "train"],
        started="a",
        ended="b",
        engine="reference",
    )
    assert about["versions"]["numpy"] == np.__version__
    assert about["python"] == ".".join(map(str, sys.version_info[:3]))
    commit = source_commit()
    assert commit is None or re.fullmatch(r"[0-9a-f]{40}(-dirty)?", commit)
    assert json.loads(json.dumps(about)) == about


def test_a_stored_run_is_a_trajectory(run: RunDirectory) -> None:
    trajectory = load_trajectory(run.path)
    assert trajectory["step"].values.tolist() == [5, 10, 15, 20, 25, 30]
    assert trajectory["snapshot"].values.tolist() == [10, 20, 30]
    assert trajectory["kl"].sel(step=15, predictor="prefix_2").item() == 30.0
    assert trajectory["attention_map"].sel(snapshot=20, query=5, head=2, key=1).item() == 20.0
    assert trajectory["attention_by_lag"].dims == ("step", "block", "head", "lag")
    assert attribute(trajectory, "groups") == [[1], [2, 3]]
    assert attribute(trajectory, "seed") == 3


def test_what_is_not_a_run_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a run"):
        load_trajectory(tmp_path)
    run = RunDirectory(tmp_path)
    with run.writing():
        begin(run)
    with pytest.raises(ConfigError, match="no measurements yet"):
        load_trajectory(tmp_path)


def test_a_run_is_read_without_torch_and_the_store_imports_little(run: RunDirectory) -> None:
    program = """
import sys
import headwise.store
assert not {"torch", "pyarrow", "xarray", "safetensors"} & set(sys.modules)
headwise.store.load_trajectory(sys.argv[1])
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program, str(run.path)], check=True)


def test_a_writable_root_takes_a_run(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "out"
    check_writable(root)
    run = RunDirectory(run_path(root, experiment="x" * 64, config_hash=identity().config_hash, seed=2**63))
    with run.writing():
        begin(run, seed=2**63)
        write_interval(run, 10)
    run.verify()
