"""Every option that draws writes the numbers that it draws beside the figure, and says so."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwise.cli.command import COMMANDS
from headwise.cli.main import main
from headwise.cli.options import figure_file

sys.path.insert(0, str(Path(__file__).parent))
from drawn_numbers import Written, assert_drawn_is_written

STORED = Path(__file__).parents[1] / "browser" / "data" / "minimal" / "0ea5daec-s0"


def checkpoints(folder: Path) -> Path:
    """Two checkpoints of a tiny GPT-2."""
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=11, n_positions=16, n_embd=8, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    for step in (10, 20):
        transformers.GPT2LMHeadModel(config).save_pretrained(folder / f"checkpoint-{step}")
    return folder


def collected(path: Path) -> Path:
    """A table of runs with ranges, with counts that are lower bounds and with cells where nothing was detected."""
    rows = [
        {
            "run": f"{m}-{u}-{seed}",
            "config.task.m": m,
            "config.model.init_scale": u,
            "stages.loss": 2 + int(seed > 0 and m > 1),
            "competitive.end": None if m == 1.0 and (seed or u < 1e-6) else 100.0 * m + 7 * seed,
            "final.fall": 0.2 if u < 1e-6 else 0.0,
        }
        for m in (1.0, 1.5)
        for u in (1e-3, 1e-9)
        for seed in range(3)
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def stored_flow(folder: Path) -> Path:
    """A flow kept as a run."""
    assert main(["flow", "--t-end", "50", "--out", str(folder)]) == 0
    return next((folder / "flow").iterdir())


def stored_probe(folder: Path) -> Path:
    """A probe kept as a run: it knows no groups."""
    assert main(["probe", str(checkpoints(folder / "c")), "--length", "12", "--out", str(folder), "-q"]) == 0
    return next((folder / "probe-c").iterdir())


def trained(folder: Path) -> Path:
    """A run that can be branched."""
    size = ("--task.T", "5", "--train.samples", "60", "--train.batch", "60", "--measure.test_samples", "30")
    assert main(["train", "minimal", *size, "--steps", "20", "--out", str(folder), "-q"]) == 0
    return next((folder / "minimal").iterdir())


def diagram_of(folder: Path) -> list[object]:
    return [collected(folder / "t.parquet"), "--x", "task.m", "--y", "model.init_scale", "--value", "stages",
            "--value", "competitive-end"]  # fmt: skip


CASES: list[tuple[str, str, str, Callable[[Path], list[object]]]] = [
    ("show", "--figure", "a.png", lambda tmp: [STORED]),
    ("show", "--figure", "below/a.svg", lambda tmp: [stored_flow(tmp)]),
    ("show", "--figure", "a.pdf", lambda tmp: [stored_probe(tmp)]),
    ("phases", "--figure", "a.svg", lambda tmp: [STORED]),
    ("phases", "--figure", "a.png", lambda tmp: [STORED, "--hide-groups"]),
    ("phases", "--figure", "a.png", lambda tmp: [stored_flow(tmp)]),
    ("flow", "--figure", "a.png", lambda tmp: ["--t-end", 400, "--out", tmp]),
    ("flow", "--overlay", "a.png", lambda tmp: ["--start", "B", "--t-end", 1500, "--out", tmp]),
    ("probe", "--figure", "a.png", lambda tmp: [checkpoints(tmp / "c"), "--length", 12, "--out", tmp, "-q"]),
    ("diagram", "--to", "a.png", diagram_of),
    ("branch", "--figure", "a.png", lambda tmp: [trained(tmp), "--at", 10, "--do", "freeze:heads=1", "-q"]),
]
"""Command, option, file and what else stands on the command line."""


@pytest.mark.parametrize(("command", "option", "name", "rest"), CASES)
def test_the_figure_shows_what_its_csv_holds(
    command: str,
    option: str,
    name: str,
    rest: Callable[[Path], list[object]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    written: Written,
) -> None:
    path = tmp_path / name
    arguments = rest(tmp_path)
    assert main([str(word) for word in (command, *arguments, option, path)]) == 0
    (sheet,), (figure,) = written.sheets, written.figures
    assert_drawn_is_written(sheet, figure, path.with_suffix(".csv").read_text())
    assert f"wrote {path} and {path.with_suffix('.csv')}\n" in capsys.readouterr().err
    start = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}[path.suffix]
    assert path.read_bytes().startswith(start)


def test_every_option_that_draws_is_tested() -> None:
    found = set()
    for name, command in COMMANDS.items():
        parser = argparse.ArgumentParser()
        command.add(parser)
        for action in parser._actions:
            if action.type is figure_file:
                found.add((name, max(action.option_strings, key=len)))
            else:
                assert not {"--figure", "--overlay"} & set(action.option_strings)
    assert found == {(command, option) for command, option, *_ in CASES}


@pytest.mark.parametrize(("command", "option"), sorted({(command, option) for command, option, *_ in CASES}))
def test_a_wrong_ending_is_refused_before_anything_happens(
    command: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    positional = {"flow": []}.get(command, ["absent"])
    more = ["--x", "task.m", "--y", "task.h"] if command == "diagram" else []
    assert main([command, *positional, *more, option, str(tmp_path / "a.doc")]) == 2
    assert capsys.readouterr().err == f"headwise: {tmp_path / 'a.doc'}: a figure ends in .png, .pdf or .svg\n"
    assert not list(tmp_path.iterdir())
