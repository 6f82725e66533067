"""`collect`, `report` and a figure killed in the middle of a write leave the old file or the new one, never a half.

The kernel kills at an exact byte: a process that goes beyond its limit of file size gets SIGXFSZ, whichever library
wrote. Python ignores that signal, so the child takes its default back.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwise.flow.config import FlowConfig
from headwise.study.collect import collect
from headwise.study.flows import keep_flow
from headwise.view.panels import Curve, Plot, Sheet
from headwise.view.report.page import page
from headwise.view.write import write_sheet

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs limits of file size")

SMALL = FlowConfig(T=5, t_end=30.0, points=20)
SECONDS = 60


def killed_at(byte: int, action: Callable[[], object]) -> bool:
    """Do this in a child that is killed once a file would have more bytes; whether it was."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(SECONDS)
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (byte, byte))
            action()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    ended = os.waitstatus_to_exitcode(status)
    assert ended in (0, -signal.SIGXFSZ), ended
    return ended != 0


@pytest.fixture(scope="module")
def flows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A root with one run and a root with two."""
    one, two = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    keep_flow(SMALL, 0, out=one)
    for seed in (0, 1):
        keep_flow(SMALL, seed, out=two)
    return one, two


def test_collect(flows: tuple[Path, Path], tmp_path: Path) -> None:
    def tables(root: Path) -> dict[str, pa.Table]:
        collected = collect(root, tmp_path / root.name)
        return {path.name: pq.read_table(path) for path in (collected.runs, collected.curves)}

    old, new = (tables(root) for root in flows)
    out = tmp_path / "out"
    collect(flows[0], out)
    whole = sorted((tmp_path / flows[1].name).glob("*.parquet"), key=lambda path: path.stat().st_size)
    moments = {0, 1, 4, 100, *(path.stat().st_size * part // 4 for path in whole for part in (1, 2, 3)), 10**7}
    killed = []
    for byte in sorted(moments):
        killed.append(killed_at(byte, lambda: collect(flows[1], out)))
        left = {name: pq.read_table(out / name) for name in old}
        expected = old if killed[-1] else new
        assert left == expected, f"killed at byte {byte}"
    assert killed == [True] * (len(killed) - 1) + [False]


def test_report(flows: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    size = page(flows[0], out, title="old").bytes
    before = out.read_bytes()
    for byte in (0, 1000, size // 2, size - 1):
        assert killed_at(byte, lambda: page(flows[0], out, title="new"))
        assert out.read_bytes() == before
    assert not killed_at(10 * size, lambda: page(flows[0], out, title="new"))
    assert b"<h1>new</h1>" in out.read_bytes()
    assert out.read_text().rstrip().endswith("</html>")


def test_a_figure_and_its_numbers(tmp_path: Path) -> None:
    def sheet(level: float) -> Sheet:
        steps = np.arange(200.0)
        return Sheet(((Plot("Loss", "step", "nats", (Curve("test", steps, steps * level),)),),))

    figure, table = write_sheet(sheet(1.0), tmp_path / "x.pdf")
    old = figure.read_bytes(), table.read_bytes()
    for byte in (0, len(old[0]) // 2):
        assert killed_at(byte, lambda: write_sheet(sheet(2.0), figure))
        assert (figure.read_bytes(), table.read_bytes()) == old
    assert not killed_at(10**7, lambda: write_sheet(sheet(2.0), figure))
    assert table.read_bytes() != old[1]
