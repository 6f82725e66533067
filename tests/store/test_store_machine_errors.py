"""What the machine refuses while reading is no damage: one line, exit code 1, nothing removed, even with --recover.

The same goes for writing, but for what the user can change, such as a full disk.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.store.run_examples import content_of, identity_of, store_run

from headwise.core.errors import ConfigError, CorruptData, HeadwiseError, MachineError
from headwise.store import RunDirectory, list_runs, load_trajectory, run_status, steps_done
from headwise.store.files import write_once
from headwise.store.verify import verify

TROUBLES = [
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.EIO,
    errno.ESTALE,
    errno.EACCES,
    errno.EPERM,
    errno.ETIMEDOUT,
    errno.EAGAIN,
]


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


@contextmanager
def failing_after(calls: int, number: int, below: Path) -> Iterator[list[str]]:
    """Every call that reads something below a directory fails after so many went well; the list says which failed."""
    names: list[tuple[Any, str]] = [(Path, "read_bytes"), (os, "listdir"), (os, "scandir"), (Path, "stat")]
    real = {(owner, name): getattr(owner, name) for owner, name in names}
    done = 0
    failed: list[str] = []

    def counted(owner: Any, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal done
            counts = str(arguments[0]).startswith(str(below))
            done += counts
            if counts and done > calls:
                failed.append(name)
                raise OSError(number, os.strerror(number), str(arguments[0]))
            return real[owner, name](*arguments, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in names:
            patch.setattr(owner, name, counted(owner, name))
        yield failed


def resume(run: RunDirectory) -> None:
    """What a resumed run does before it computes, in the way that throws most away."""
    with run.writing():
        run.start(
            {"seed": 0, **identity_of().content},
            identity=identity_of(),
            coordinates={"predictor": ["prefix_1"], "query": [0], "key": [0, 1]},
            attributes={"seed": 0},
            on_damage="recover",
        )
        checkpoint = run.latest_checkpoint(on_damage="recover")
        run.discard_after(-1 if checkpoint is None else checkpoint.step)


USES: dict[str, Callable[[RunDirectory], object]] = {
    "resume": resume,
    "load": lambda run: load_trajectory(run.path),
    "status": lambda run: run_status(run.path, care="full"),
    "quick status": lambda run: run_status(run.path),
    "steps": lambda run: steps_done(run.path),
    "list": lambda run: list_runs(run.path.parents[1], care="full"),
    "verify": lambda run: verify(run.path.parents[1]),
    "same": lambda run: run.require_same(identity_of(), on_damage="recover"),
}


@pytest.mark.parametrize("use", USES)
def test_trouble_at_any_moment_of_reading_is_no_damage(tmp_path: Path, use: str) -> None:
    run = store_run(tmp_path, until=20, over=False)
    before = {name: content for name, content in content_of(run.path).items() if not name.startswith(".")}
    calls = tried = 0
    while True:
        number = TROUBLES[calls % len(TROUBLES)]
        raised: HeadwiseError | None = None
        with failing_after(calls, number, tmp_path) as failed:
            try:
                result = USES[use](RunDirectory(run.path))
            except HeadwiseError as error:
                raised = error
        if raised is None:
            assert not failed, f"{failed} went unnoticed, the answer was {result}"
            break
        denied_writing = use == "resume" and number in (errno.EACCES, errno.EPERM)
        assert raised.exit_code == 1 or (denied_writing and isinstance(raised, ConfigError)), raised
        assert "\n" not in str(raised)
        assert str(tmp_path) in str(raised)
        assert {name: content for name, content in content_of(run.path).items() if not name.startswith(".")} == before
        tried += 1
        calls += 1
    assert tried > 5


@pytest.mark.parametrize("limit", [3, 4, 5, 6, 8, 10])
def test_out_of_file_descriptors_nothing_is_called_damaged(tmp_path: Path, limit: int) -> None:
    """A real limit in a real process, after the libraries were imported."""
    run = store_run(tmp_path, over=False)
    before = content_of(run.path)
    program = f"""
import resource, sys
import pyarrow.parquet, safetensors.numpy, xarray, filelock
from headwise.core.errors import HeadwiseError
from headwise.store import RunDirectory, RunIdentity, load_trajectory, run_status
run = RunDirectory(sys.argv[1])
load_trajectory(run.path)
resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))
for use in (lambda: load_trajectory(run.path), lambda: run_status(run.path), lambda: run.verify(),
            lambda: run.latest_checkpoint(on_damage="recover")):
    try:
        result = use()
        assert result != "damaged", result
    except HeadwiseError as error:
        assert error.exit_code == 1, repr(error)
"""
    subprocess.run([sys.executable, "-c", program, str(run.path)], check=True, timeout=120)
    assert content_of(run.path) == before


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE, errno.ENOMEM, errno.ESTALE])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_trouble_of_the_machine_while_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, call: str
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    path = tmp_path / "data.bin"
    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        with pytest.raises(MachineError, match=os.strerror(number).lower()) as caught:
            write_once(path, b"content")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not path.exists()
    assert list(tmp_path.glob(".*")) == []


def test_what_is_not_a_file_is_damage(tmp_path: Path) -> None:
    run = store_run(tmp_path, over=False)
    run.metrics.path(40).unlink()
    run.metrics.path(40).mkdir()
    with pytest.raises(CorruptData, match="not a file"):
        load_trajectory(run.path)


def test_no_leave_to_read_is_no_damage(tmp_path: Path) -> None:
    run = store_run(tmp_path, over=False)
    run.metrics.path(40).chmod(0)
    me = os.geteuid()
    for folder in (*tmp_path.parents[:3], tmp_path):
        folder.chmod(folder.stat().st_mode | 0o755)
    try:
        if me == 0:  # root may read everything, so be nobody for a moment
            os.seteuid(65534)
        with pytest.raises(HeadwiseError, match="ask its owner for leave") as caught:
            load_trajectory(run.path)
    finally:
        os.seteuid(me)
        run.metrics.path(40).chmod(0o600)
    assert caught.value.exit_code == 1
