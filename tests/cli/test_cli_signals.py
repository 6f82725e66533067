"""SIGTERM and Ctrl-C: what can be saved is saved, no file is left half written, and the same command goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import tiny
from tests.study.test_resume import assert_same
from tests.study.test_sweep import TINY

from headwise.cli import sweep as sweep_command
from headwise.cli.main import main
from headwise.core.errors import Interrupted
from headwise.flow.config import FlowConfig
from headwise.paper.reproduce import reproduce
from headwise.store import RunDirectory
from headwise.study import collect as collecting
from headwise.study.executors import InProcess
from headwise.study.flows import keep_flow
from headwise.study.many import run_all
from headwise.study.run_location import run_location
from headwise.view.report import page as paging


def send(number: int) -> Callable[..., None]:
    return lambda *arguments, **named: os.kill(os.getpid(), number)


def finished(root: Path) -> int:
    return len(list(root.rglob("manifest.json")))


@pytest.fixture(autouse=True)
def handlers_are_put_back() -> Any:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    yield
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 75), (signal.SIGINT, 130)])
def test_a_sweep_stops_and_goes_on(
    number: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    line = ["sweep", "minimal", *TINY, "--seeds", "0..2", "--out", str(tmp_path)]
    monkeypatch.setattr(sweep_command, "quietly", lambda arguments: send(number))
    assert main(line) == code
    assert "stopped with 2 of 3 runs left; the same command resumes" in capfd.readouterr().err
    assert finished(tmp_path) == 1
    monkeypatch.undo()
    assert main(line) == 0
    assert finished(tmp_path) == 3


def test_a_sweep_on_workers_stops_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    line = ["sweep", "minimal", *TINY, "--seeds", "0..3", "--workers", "2", "--out", str(tmp_path)]
    monkeypatch.setattr(sweep_command, "quietly", lambda arguments: send(signal.SIGTERM))
    assert main(line) == 75
    assert "the same command resumes" in capfd.readouterr().err
    assert 1 <= finished(tmp_path) < 4
    monkeypatch.undo()
    assert main(line) == 0
    assert finished(tmp_path) == 4


def test_a_run_in_this_process_is_saved_where_it_is(tmp_path: Path) -> None:
    config = tiny()
    asked = iter([False] * 6 + [True] * 100)
    with pytest.raises(Interrupted, match="stopped with 1 of 1 runs left"):
        run_all([config], tmp_path / "a", executor=InProcess(), argv=[], stop_asked=lambda: next(asked))
    assert finished(tmp_path / "a") == 0
    assert list(run_location(config, tmp_path / "a").glob("checkpoint-*.safetensors"))
    for root in ("a", "b"):
        run_all([config], tmp_path / root, executor=InProcess(), argv=[])
    assert_same(*(RunDirectory(run_location(config, tmp_path / root)) for root in ("a", "b")))


@pytest.mark.usefixtures("short_fits")
def test_a_reproduction_stops_before_it_judges(tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match="runs left; the same command resumes"):
        reproduce(
            ["order"],
            seeds=[0],
            workers=1,
            out=tmp_path / "runs",
            into=tmp_path / "into",
            while_computing=lambda: nullcontext(lambda: True),
        )
    assert not (tmp_path / "into").exists()


@pytest.mark.parametrize("module", [collecting, paging], ids=["collect", "report"])
def test_what_has_nothing_to_save_ends_and_leaves_the_earlier_file(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run = keep_flow(FlowConfig(T=5, t_end=30.0, points=20), out=tmp_path / "runs").run
    out = tmp_path / "out"
    line = {
        collecting: ["collect", str(tmp_path / "runs"), "-o", str(out)],
        paging: ["report", str(run), "-o", str(out / "page.html")],
    }[module]
    assert main(line) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    name = "curve_table" if module is collecting else "write_runs_page"
    monkeypatch.setattr(module, name, send(signal.SIGTERM))
    capfd.readouterr()
    assert main(line) == 75
    assert len(capfd.readouterr().err.splitlines()) == 1
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
