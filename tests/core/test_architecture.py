"""ARCHITECTURE.md describes the package that is there: its rooms, who imports whom, and the walks through it."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import headwise
from headwise.cli.main import main

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def _rooms() -> list[str]:
    return re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)


def _layers() -> list[list[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [layers] = [contract["layers"] for contract in contracts if contract.get("containers") == ["headwise"]]
    return [[room.strip() for room in layer.split("|")] for layer in layers]


def test_every_package_is_a_room_of_the_table_in_the_order_of_the_layers() -> None:
    packages = {path.parent.name for path in (ROOT / "src/headwise").glob("*/__init__.py")}
    assert set(_rooms()) == packages
    level = {room: number for number, layer in enumerate(_layers()) for room in layer}
    assert set(level) == packages
    levels = [level[room] for room in _rooms()]
    assert levels == sorted(levels), "the table lists rooms from the highest layer to the lowest"


def test_the_picture_names_every_source_and_reader() -> None:
    picture = re.search(r"```\nsources.*?```", TEXT, re.DOTALL)
    assert picture is not None
    named = set(re.findall(r"[a-z]+", picture[0])) & set(_rooms())
    assert named >= {
        "task",
        "model",
        "training",
        "measure",
        "flow",
        "probe",
        "phases",
        "theory",
        "view",
        "paper",
        "cli",
    }


def _walk(title: str) -> list[str]:
    start = TEXT.index(f"**{title}**")
    body = TEXT[start:].split("\n\n", 1)[0]
    steps = "\n".join(re.findall(r"^\d+\. .*(?:\n .*)*", body, re.MULTILINE))
    return re.findall(r"`headwise\.([\w.]+)`", steps)


@contextmanager
def _first_calls(names: list[str]) -> Iterator[list[str]]:
    """The order in which functions of the package are called for the first time, of those that are named."""
    wanted = set(names)
    seen: list[str] = []

    def watch_calls(frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        module = frame.f_globals.get("__name__", "")
        if module.startswith("headwise."):
            name = f"{module.removeprefix('headwise.')}.{frame.f_code.co_name}"
            if name in wanted and name not in seen:
                seen.append(name)

    before = sys.getprofile()
    sys.setprofile(watch_calls)
    try:
        yield seen
    finally:
        sys.setprofile(before)


TINY = (
    "--preset redrawn --task.d 6 --task.T 5 --train.batch 20 --train.samples 60 --train.steps 12 "
    "--measure.test_samples 30 -q"
)


def _train_and_judge(folder: Path) -> None:
    assert main(["train", "minimal", *TINY.split(), "--out", str(folder)]) == 0
    [run] = (folder / "minimal").iterdir()
    assert main(["reproduce", "--run", str(run), "--into", str(folder / "verdicts")]) == 0
    assert main(["report", str(run), "-o", str(folder / "page.html")]) == 0


def _watch(folder: Path) -> None:
    import torch

    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(vocab_size=9, n_positions=8, n_embd=8, n_layer=1, n_head=2)
    model = transformers.GPT2LMHeadModel(config)
    with headwise.watch(model, tokens=torch.randint(9, (2, 8)), every=1) as watched:
        watched.step()
    str(watched.report())


def _flow(folder: Path) -> None:
    assert main(["flow", "--start", "B", "--t-end", "30", "--out", str(folder), "--figure", str(folder / "f.png")]) == 0


@pytest.mark.parametrize(
    ("title", "go"),
    [
        ("From tokens to a verdict and a page", _train_and_judge),
        ("From a GPT-2 to a report", _watch),
        ("From a flow to a figure", _flow),
    ],
)
def test_walks(title: str, go: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every function that a walk names is called, in that order."""
    named = list(dict.fromkeys(_walk(title)))
    assert len(named) >= 6
    with _first_calls(named) as seen:
        go(tmp_path)
    assert seen == named
