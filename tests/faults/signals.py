"""Kills and signals at random moments: the same command again ends bit for bit as if nothing had happened."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from headwise.paper import scale
from tests.conftest import shorten_fits
from tests.faults.counts import Counts, Found
from tests.faults.file_system import Tree, read_tree, write_tree
from tests.faults.models import save_checkpoints
from tests.faults.processes import Child, import_everything, start
from tests.faults.readers import require_same
from tests.faults.workplace import (
    command,
    data_below,
    difference,
    probe_line,
    run_folders,
    tiny_options,
    train_line,
    without_git,
    workplace,
)

OPTIMISERS: dict[str, dict[str, str]] = {
    "AdamW": {"train__optimizer": "AdamW"},
    "SGD with momentum": {"train__optimizer": "SGD", "train__momentum": "0.9", "train__lr": "0.5"},
    "Adam with a plateau schedule": {
        "train__optimizer": "Adam", "train__schedule": "plateau", "train__patience": "0", "train__lr": "0.3",
    },
    "RMSprop on fresh data": {"train__optimizer": "RMSprop", "train__data": "fresh"},
    "Adafactor": {"train__optimizer": "Adafactor"},
}  # fmt: skip
STEPS, EVERY = "60", "5"
ALLOWED = {
    signal.SIGTERM: (0, 75),
    signal.SIGINT: (0, 130),
    signal.SIGSTOP: (0,),
    signal.SIGKILL: (0, -signal.SIGKILL),
}
READ_TABLE = "import sys, pyarrow.parquet; pyarrow.parquet.read_table(sys.argv[1])"
KILLS_SHARE = 0.5
"""Of all cases; the others are signals to every command that takes a while."""


@dataclass(frozen=True)
class Scene:
    """A command that takes a while, what lies there before, and what it leaves."""

    name: str
    line: Callable[[Path], list[str]]
    before: Tree
    whole: Path
    seconds: float


def run(counts: Counts) -> None:
    """Kill trainings of five optimisers, then signal every command."""
    import_everything()
    rng = random.Random(counts.seed)
    small = mock.patch.dict(scale.MINIMAL, {"quick": scale.Size(30, 20, 60, 10)})
    with workplace() as place, without_git(), small, pytest.MonkeyPatch.context() as patch:
        shorten_fits(patch)  # a reproduction would otherwise spend nearly all its time in one fit
        kills = round(KILLS_SHARE * counts.wanted)
        for number, (name, settings) in enumerate(OPTIMISERS.items()):
            share = kills // len(OPTIMISERS) + (number < kills % len(OPTIMISERS))
            _kill_often(counts, name, settings, share, place / "killed", rng)
        scenes = list(_scenes(place))
        while counts.go_on():
            for scene in scenes:
                for number in ALLOWED:
                    if counts.go_on():
                        _signal(counts, scene, number, place / "signalled", rng)


def _kill_often(
    counts: Counts, name: str, settings: dict[str, str], kills: int, place: Path, rng: random.Random
) -> None:
    seed = 0
    changes = {**settings, "train__steps": STEPS, "train__checkpoint_every": EVERY}
    while kills > 0 and counts.go_on():
        whole, root = place / "whole", place / "runs"
        line = train_line(root, seed=seed, **changes)
        began = time.monotonic()
        if start(train_line(whole, seed=seed, **changes), place).wait() != 0:
            raise Found("lost", f"{name}: {(place / 'stderr').read_text()}")
        length = time.monotonic() - began
        ended = False
        while kills > 0 and not ended and counts.go_on():
            child = start(line, place)
            time.sleep(rng.uniform(0.0, 1.1 * length))
            child.send(signal.SIGKILL)
            ended = child.wait() != -signal.SIGKILL
            if not ended:
                kills -= 1
                with counts.case(f"killed: {name}", f"seed {seed}"):
                    _check_tidy(child, f"killed training with {name}")
        with counts.case(f"killed: {name}, ended", f"seed {seed}"):
            counts.tried -= 1  # the end belongs to the kills before it
            if start(line, place).wait() != 0:
                raise Found("lost", (place / "stderr").read_text()[-300:])
            if unlike := difference(data_below(whole), data_below(root)):
                raise Found("wrong", f"killed and resumed, {unlike}")
        shutil.rmtree(place)
        seed += 1


def _scenes(place: Path) -> list[Scene]:
    models = place / "models" / "trained"
    save_checkpoints(models, list(range(1, 25)))
    small = tiny_options(train__steps="40", train__checkpoint_every="10")
    runs = place / "stored"
    for seed in range(3):
        command(*train_line(runs, seed=seed))
    stored = read_tree(runs)
    a_run = next(path for path in stored if path.endswith("-s0") and stored[path] is None)
    lines: dict[str, tuple[Callable[[Path], list[str]], Tree]] = {
        "train": (lambda root: train_line(root, train__steps="60", train__checkpoint_every="6"), {}),
        "sweep": (lambda root: ["sweep", "minimal", *small, "--seeds", "0..3", "--out", str(root), "-q"], {}),
        "reproduce": (
            lambda root: ["reproduce", "order", "--seeds", "0", "--workers", "1", "--out", str(root),
                          "--into", str(root / "into"), "-q"],
            {},
        ),
        "collect": (lambda root: ["collect", str(root), "-o", str(root / "collected")], stored),
        "probe": (lambda root: probe_line(models, root), {}),
        "report": (lambda root: ["report", str(root / a_run), "-o", str(root / "page.html")], stored),
    }  # fmt: skip
    scenes = []
    for name, (line, before) in lines.items():
        root = place / "whole" / name
        write_tree(root, before)
        began = time.monotonic()
        child = start(line(root), place / "first-output")
        if child.wait() != 0:
            raise Found("lost", f"{name}: {child.err.read_text()[-500:]}")
        scenes.append(Scene(name, line, before, root, time.monotonic() - began))
    return scenes


def _signal(counts: Counts, scene: Scene, number: signal.Signals, place: Path, rng: random.Random) -> None:
    moment = rng.uniform(0.0, scene.seconds)
    root = place / "runs"
    with counts.case(f"{scene.name}, {number.name}", f"after {moment:.2f} of {scene.seconds:.2f} s"):
        shutil.rmtree(place, ignore_errors=True)
        write_tree(root, scene.before)
        child = start(scene.line(root), place)
        # Before a command has begun to listen the system ends it, with nothing begun.
        child.begins()
        if number == signal.SIGTERM and not child.begins_to_listen():
            raise Found("wrong", f"never listens to signals, and ended with {child.wait()}")
        time.sleep(moment)
        child.send(number)
        if number == signal.SIGSTOP:
            time.sleep(0.05)
            child.send(signal.SIGCONT)
        code = child.wait()
        _check_tidy(child, scene.name)
        if code not in ALLOWED[number]:
            raise Found("wrong", f"ended with {code} after {number.name}: {child.err.read_text()[-200:]}")
        _require_whole_outputs(root)
        again = start(scene.line(root), place)
        if again.wait() != 0:
            raise Found("lost", f"the same command again ended with {again.code}: {again.err.read_text()[-300:]}")
        for run in run_folders(scene.whole):
            require_same(run, root / run.relative_to(scene.whole))
        _require_whole_outputs(root)


def _require_whole_outputs(root: Path) -> None:
    for table in root.glob("collected/*.parquet"):
        # Elsewhere, because pyarrow starts threads, and a process with threads cannot be forked safely.
        read = subprocess.run([sys.executable, "-c", READ_TABLE, str(table)], capture_output=True, text=True)
        if read.returncode != 0:
            raise Found("wrong", f"{table.name} is half written: {read.stderr[-300:]}")
    for page in [*root.glob("*.html"), *root.glob("into/*.html")]:
        if not page.read_text().rstrip().endswith("</html>"):
            raise Found("wrong", f"{page.name} is half written")


def _check_tidy(child: Child, about: str) -> None:
    if "Traceback (most recent call last)" in child.err.read_text():
        raise Found("traceback", f"{about}: {child.err.read_text()[-400:]}")
