"""Files that appear whole or not at all: order of system calls, death at each of them, damage, refusals."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headwise.core.errors import ConfigError, CorruptData, RunFailed
from headwise.store import files
from headwise.store.files import make_directory, read_verified, remove, sidecar, sweep_temporaries, write_once

CALLS = ("open", "write", "fsync", "replace", "unlink")


def test_round_trip_and_idempotence(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    for _ in range(2):
        write_once(path, b"content")
        assert read_verified(path) == b"content"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data.bin", "data.bin.sha256"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    write_once(path, b"first")
    with pytest.raises(RunFailed, match="written once"):
        write_once(path, b"second")
    assert read_verified(path) == b"first"


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs sha256sum")
def test_the_sidecar_is_what_sha256sum_checks(tmp_path: Path) -> None:
    write_once(tmp_path / "data.bin", os.urandom(1000))
    subprocess.run(["sha256sum", "--check", "--strict", "data.bin.sha256"], cwd=tmp_path, check=True)


def test_content_and_digest_are_on_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, events = tmp_path / "data.bin", []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        events.append(("sync", Path(os.readlink(f"/proc/self/fd/{descriptor}")).name))
        real_fsync(descriptor)

    def replace(source: Path, target: Path) -> None:
        events.append(("name", target.name))
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    write_once(path, b"content")
    data_named, digest_named = events.index(("name", "data.bin")), events.index(("name", "data.bin.sha256"))
    assert events.index(("sync", ".data.bin.tmp")) < data_named
    assert events.index(("sync", ".data.bin.sha256.tmp")) < digest_named < data_named
    assert ("sync", tmp_path.name) in events[digest_named:data_named]
    assert ("sync", tmp_path.name) in events[data_named:]


def dies_at_call(number: int, action: Callable[[], object]) -> bool:
    """Run `action` in a child that dies, without any clean-up, just before its n-th call; whether it died."""
    child = os.fork()
    if child == 0:
        calls = 0

        def counted(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **options: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls == number:
                    os._exit(9)
                return real(*arguments, **options)

            return call

        for name in CALLS:
            setattr(os, name, counted(getattr(os, name)))
        files.open = counted(open)  # type: ignore[attr-defined]
        action()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_death_at_any_system_call_leaves_a_whole_file_or_none(tmp_path: Path) -> None:
    outcomes, number = [], 1
    while True:
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / "data.bin"
        died = dies_at_call(number, lambda path=path: write_once(path, b"content"))  # type: ignore[misc]
        outcomes.append(path.exists())
        if path.exists():
            assert read_verified(path) == b"content"
        sweep_temporaries(folder)
        write_once(path, b"content")
        assert read_verified(path) == b"content"
        assert len(list(folder.iterdir())) == 2
        if not died:
            break
        number += 1
    assert number > 8
    assert outcomes == sorted(outcomes)
    assert not outcomes[0]
    assert outcomes[-1]


def test_death_at_any_system_call_of_a_removal_never_leaves_a_file_without_its_digest(tmp_path: Path) -> None:
    number, died = 0, True
    while died:
        number += 1
        path = tmp_path / str(number) / "data.bin"
        path.parent.mkdir()
        write_once(path, b"content")
        died = dies_at_call(number, lambda path=path: remove(path))  # type: ignore[misc]
        if path.exists():
            assert read_verified(path) == b"content"
        remove(path)
        assert list(path.parent.iterdir()) == []
    assert number > 4


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [truncate, empty, flip_a_bit, Path.unlink])
@pytest.mark.parametrize("victim", ["data", "sidecar"])
def test_damage_is_named(tmp_path: Path, damage: Callable[[Path], object], victim: str) -> None:
    path = tmp_path / "data.bin"
    write_once(path, bytes(range(256)))
    damage(path if victim == "data" else sidecar(path))
    with pytest.raises(CorruptData) as caught:
        read_verified(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 3


def test_a_sidecar_of_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    write_once(path, b"content")
    sidecar(path).write_text(f"{hashlib.sha256(b'content').hexdigest()}  other.bin\n")
    with pytest.raises(CorruptData, match=r"data\.bin\.sha256 is damaged"):
        read_verified(path)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "no space left"),
        (errno.EDQUOT, "no space left"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission denied"),
    ],
)
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_what_the_system_refuses_is_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str, call: str
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    path = tmp_path / "data.bin"
    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        with pytest.raises(ConfigError, match=words) as caught:
            write_once(path, b"content")
    assert str(path) in str(caught.value)
    assert "--out" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not path.exists()
    assert list(tmp_path.glob(".*")) == []


def test_a_name_too_long_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="too long"):
        write_once(tmp_path / ("n" * 250), b"content")
    with pytest.raises(ConfigError, match="too long"):
        make_directory(tmp_path / ("n" * 300) / "inside")


def test_a_file_in_the_place_of_a_directory_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigError, match="not a directory"):
            make_directory(place)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Any:
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("may not mount a tiny file system here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_fills_up_leaves_what_was_written_before_whole(tiny_disk: Path) -> None:
    written: list[int] = []

    def fill() -> None:
        for number in range(100):
            write_once(tiny_disk / f"data-{number}.bin", bytes([number]) * 3000)
            written.append(number)

    with pytest.raises(ConfigError, match="no space left"):
        fill()
    assert written
    for number in written:
        assert read_verified(tiny_disk / f"data-{number}.bin") == bytes([number]) * 3000
    assert not (tiny_disk / f"data-{len(written)}.bin").exists()
    assert list(tiny_disk.glob(".*")) == []
