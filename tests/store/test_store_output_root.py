"""Output roots that cannot take a run are refused in one line, and nothing is created."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

import pytest

from headwise.core.errors import ConfigError
from headwise.store.output_root import check_writable, parse_run_path, run_path, short_path

HASH = "0123" * 8

Usage = namedtuple("Usage", "total used free")


def refused(root: Path | str) -> str:
    with pytest.raises(ConfigError) as caught:
        check_writable(root)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_good_root_is_left_as_it_was(tmp_path: Path) -> None:
    check_writable(tmp_path)
    check_writable(tmp_path / "not" / "there" / "yet")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_not_a_root(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for root in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "dangling", "/dev/null"):
        assert "is not a directory" in refused(root)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_full_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9 - 49_000_000, 49_000_000))
        assert "49 MB free" in refused(tmp_path / "out")
        patch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9 - 51_000_000, 51_000_000))
        check_writable(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_names_and_paths_too_long_are_refused(tmp_path: Path) -> None:
    assert "longer than 255 bytes" in refused(tmp_path / ("n" * 256))
    assert "exceed" in refused(tmp_path.joinpath(*["n" * 200] * 20))
    assert len(refused(tmp_path.joinpath(*["n" * 200] * 40))) < 200
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("root", ["a\0b", "\ud800"])
def test_impossible_names_are_refused(root: str) -> None:
    refused(root)


def test_a_directory_without_leave_is_refused(tmp_path: Path) -> None:
    me = os.geteuid()
    tmp_path.chmod(0o555)
    try:
        if me == 0:  # root may write everywhere, so be nobody for a moment
            os.seteuid(65534)
        assert "permission denied" in refused(tmp_path / "out")
    finally:
        os.seteuid(me)
        tmp_path.chmod(0o700)


def test_a_read_only_file_system_is_refused(tmp_path: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=100m", "tmpfs", str(tmp_path)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("may not mount here")
    try:
        assert "read-only" in refused(tmp_path / "out")
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_run_paths_and_back() -> None:
    path = run_path("out", experiment="minimal", config_hash=HASH, seed=7)
    assert path == Path(f"out/minimal/{HASH}-s7")
    assert parse_run_path(path) == ("minimal", HASH, 7)
    assert short_path(path) == Path("out/minimal/01230123-s7")
    assert parse_run_path(short_path(path)) == ("minimal", "01230123", 7)
    assert short_path(Path("out/minimal/notes")) == Path("out/minimal/notes")


@pytest.mark.parametrize("experiment", ["", "..", ".hidden", "a/b", "-x", "a b", "é", "x" * 65, "ok\n"])
def test_experiment_names_cannot_leave_the_root(experiment: str) -> None:
    with pytest.raises(ConfigError, match="must match"):
        run_path("out", experiment=experiment, config_hash=HASH, seed=0)


@pytest.mark.parametrize(
    ("config_hash", "seed"), [("0123abcd", 0), ("0123" * 7, 0), ("0123ABCD" * 4, 0), (HASH, -1), (HASH, 10**70)]
)
def test_hash_and_seed_are_checked(config_hash: str, seed: int) -> None:
    with pytest.raises(ConfigError, match="32 hexadecimal digits"):
        run_path("out", experiment="minimal", config_hash=config_hash, seed=seed)


@pytest.mark.parametrize(
    "name",
    ["minimal/readme.txt", "minimal/0123abcd-s01", ".git/0123abcd-s0", "minimal/0123abcd-s", f"minimal/{HASH}0-s0"],
)
def test_other_paths_are_not_runs(name: str) -> None:
    assert parse_run_path(Path("out") / name) is None
