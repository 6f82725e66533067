"""A run resumed with another kernel than it was begun with says so, in its log and to the caller."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from tests.conftest import tiny

from headwise.core.errors import Interrupted
from headwise.model import kernel
from headwise.store import RunDirectory
from headwise.study.runner import execute

pytestmark = pytest.mark.skipif(kernel.missing() is not None, reason=str(kernel.missing()))


def interrupted(out: Path, path: str = "kernel") -> RunDirectory:
    """A run stopped after a few steps."""
    steps = itertools.count()
    with pytest.raises(Interrupted):
        execute(tiny(compute__path=path), out, stop_asked=lambda: next(steps) == 5)
    return RunDirectory(next(out.glob("*/*")))


def resumed(out: Path, path: str = "kernel") -> tuple[dict[str, object], list[str]]:
    """The log entry of resuming, and the lines that a person gets to read."""
    lines: list[str] = []
    run = execute(tiny(compute__path=path), out, notify=lines.append)
    return next(event for event in reversed(run.read_log()) if event["event"] == "resumed"), lines


def test_the_log_names_the_kernel(tmp_path: Path) -> None:
    run = interrupted(tmp_path)
    assert run.read_log()[0]["event"] == "started"
    assert run.read_log()[0]["kernel"] == kernel.identity()
    entry, lines = resumed(tmp_path)
    assert entry["kernel"] == kernel.identity()
    assert "note" not in entry
    assert lines == []


@pytest.mark.parametrize("part", ["sources", "compiler", "instructions"])
def test_another_kernel_is_named(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(tmp_path)
    begun = kernel.identity()
    monkeypatch.setattr(kernel, "identity", lambda: {**begun, part: "another"})
    entry, lines = resumed(tmp_path)
    assert entry["kernel"][part] == "another"
    assert f"({part} {begun[part]}, now another)" in entry["note"]
    assert lines == [f"minimal: {entry['note']}"]


def test_a_log_without_a_kernel_cannot_be_compared(tmp_path: Path) -> None:
    run = interrupted(tmp_path)
    events = [{name: value for name, value in event.items() if name != "kernel"} for event in run.read_log()]
    run.log_path.write_text("".join(json.dumps(event) + "\n" for event in events))
    entry, lines = resumed(tmp_path)
    assert "does not name the kernel" in entry["note"]
    assert len(lines) == 1


def test_other_paths_have_no_kernel(tmp_path: Path) -> None:
    run = interrupted(tmp_path, "torch")
    assert "kernel" not in run.read_log()[0]
    entry, lines = resumed(tmp_path, "torch")
    assert "note" not in entry
    assert lines == []
