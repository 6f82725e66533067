"""`headwise verify`: clean, damaged, old and mixed roots; every fault named, litter told apart from damage."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.store.run_examples import exchange, store_run, with_new_digest

from headwise import verify
from headwise.cli.main import main
from headwise.core.errors import ConfigError
from headwise.store.files import remove, sidecar
from headwise.store.run_directory import RunDirectory

OLD = Path(__file__).with_name("data") / "format-1"


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(content)


def test_a_clean_root(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [store_run(tmp_path), store_run(tmp_path, seed=1, over=False), store_run(tmp_path / "deep" / "er", seed=2)]
    report = verify(tmp_path)
    assert report.sound
    assert {run.run for run in report.runs} == {run.path for run in runs}
    assert sorted(run.status for run in report.runs) == ["finished", "finished", "interrupted"]
    for run in report.runs:
        assert (run.format, run.faults, run.litter, run.not_promised) == (2, (), (), ())
        assert run.files == len(list(run.run.glob("*.sha256")))
    assert main(["verify", str(tmp_path)]) == 0
    assert "3 runs, 38 files" in capsys.readouterr().out
    assert all(len(line) <= 80 for line in str(report).splitlines() if str(tmp_path) not in line)


@pytest.mark.parametrize(
    "damage", [flip_a_bit, remove, lambda path: sidecar(path).unlink(), lambda path: path.unlink()]
)
@pytest.mark.parametrize(
    "name",
    [
        "config.json",
        "coordinates.json",
        "metrics-00000010.parquet",
        "metrics-00000020.parquet",
        "metrics-00000040.parquet",
        "snapshots-00000030.safetensors",
        "checkpoint-00000040.safetensors",
        "manifest.json",
    ],
)
@pytest.mark.parametrize("over", [True, False], ids=["over", "unfinished"])
def test_every_damage_is_named(tmp_path: Path, name: str, over: bool, damage: Callable[[Path], object]) -> None:
    run = store_run(tmp_path, over=over)
    path = run.path / name
    if not path.exists():
        return
    damage(path)
    faults = verify(run.path).runs[0].faults
    named = [fault for fault in faults if fault.file == path or name in fault.problem]
    may_go = not path.exists() and (name.startswith("checkpoint") or name == "manifest.json")
    assert bool(named) != may_go, faults
    assert len(faults) <= 2


def test_all_faults_are_found_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, other = store_run(tmp_path), store_run(tmp_path, seed=1)
    exchange(run.metrics.path(20), other.metrics.path(20))
    flip_a_bit(run.snapshots.path(40))
    flip_a_bit(run.checkpoints.path(30))
    report = verify([run.path, other.path])
    assert [{fault.file.name for fault in found.faults} for found in report.runs] == [
        {"metrics-00000020.parquet", "snapshots-00000040.safetensors", "checkpoint-00000030.safetensors"},
        {"metrics-00000020.parquet"},
    ]
    assert [found.status for found in report.runs] == ["damaged", "damaged"]
    assert main(["verify", str(tmp_path), "--json"]) == 3
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert document["sound"] is False
    assert document["schema"] == 1
    named = {fault["file"] for found in document["runs"] for fault in found["faults"]}
    assert str(run.metrics.path(20)) in named
    assert printed.err.count("\n") == 1
    assert "4 wrong in 2 of them" in printed.err


def test_a_directory_with_the_name_of_another_run_is_named(tmp_path: Path) -> None:
    run = store_run(tmp_path)
    copy = run.path.with_name(run.path.name.replace("-s0", "-s9"))
    shutil.copytree(run.path, copy)
    mine, foreign = verify(tmp_path).runs
    assert mine.faults == ()
    [fault] = foreign.faults
    assert fault.file == copy
    assert "seed 0, not 9" in fault.problem


def test_litter_is_named_and_is_no_damage(tmp_path: Path) -> None:
    run = store_run(tmp_path)
    remove(run.checkpoints.path(30))
    sidecar(run.checkpoints.path(30)).write_text("left by a killed writer")
    for name in (".metrics-00000050.parquet.tmp", "notes.txt"):
        (run.path / name).write_text("x")
    [found] = verify(run.path).runs
    assert found.faults == ()
    assert [path.name for path in found.litter] == [
        ".metrics-00000050.parquet.tmp",
        "checkpoint-00000030.safetensors.sha256",
        "notes.txt",
    ]
    assert "notes.txt" in str(verify(run.path))


def test_a_stray_file_of_the_run_is_a_fault(tmp_path: Path) -> None:
    run = store_run(tmp_path)
    stray = run.checkpoints.path(99_999_999)
    shutil.copyfile(run.checkpoints.path(40), stray)
    with_new_digest(stray)
    [fault] = verify(run.path).runs[0].faults
    assert fault.file == stray


def test_a_run_that_is_being_written_is_checked_too(tmp_path: Path) -> None:
    run = store_run(tmp_path, over=False)
    with run.writing():
        (run.path / ".metrics-00000050.parquet.tmp").write_text("x")
        [found] = verify(run.path).runs
    assert (found.status, found.faults, found.litter) == ("running", (), ())


def test_a_checkpoint_that_its_writer_drops_meanwhile_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = store_run(tmp_path, over=False)
    before = verify(run.path).runs[0].files
    oldest = run.checkpoints.path(run.checkpoints.steps()[0])
    list_files = RunDirectory.data_files

    def list_and_drop(self: RunDirectory) -> list[Path]:
        files = list_files(self)
        remove(oldest)
        return files

    monkeypatch.setattr(RunDirectory, "faults", lambda self: [])  # the moment is after everything was read
    monkeypatch.setattr(RunDirectory, "data_files", list_and_drop)
    with run.writing():
        [found] = verify(run.path).runs
    assert (found.status, found.faults, found.files) == ("running", (), before - 1)


def test_old_and_new_runs_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(OLD, tmp_path / "old")
    store_run(tmp_path / "new")
    report = verify(tmp_path)
    assert report.sound
    by_format = [run.format for run in report.runs]
    assert (by_format.count(1), by_format.count(2)) == (8, 1)
    for run in report.runs:
        assert bool(run.not_promised) == (run.format == 1)
    assert main(["verify", str(tmp_path)]) == 0
    assert "format 1 (8 runs):" in capsys.readouterr().out
    flip_a_bit(tmp_path / "old/whole/minimal/8abf73db-s3/metrics-00000020.parquet")
    assert main(["verify", str(tmp_path)]) == 3
    assert "metrics-00000020.parquet is damaged" in " ".join(capsys.readouterr().out.split())


def test_what_holds_no_run_is_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match="no runs under"):
        verify(tmp_path)
    with pytest.raises(ConfigError, match="not a directory"):
        verify(tmp_path / "nowhere")
    assert main(["verify", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_verifying_changes_nothing(tmp_path: Path) -> None:
    run = store_run(tmp_path, over=False)
    flip_a_bit(run.metrics.path(20))
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in run.path.iterdir()}
    verify(run.path)
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in run.path.iterdir()} == before
