"""Where cases are tried, and the small runs they are tried on."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headwise.cli.main import main

SIZES = {
    "task.d": "4",
    "task.T": "3",
    "task.w": "6",
    "model.width": "6",
    "train.batch": "5",
    "train.samples": "9",
    "train.steps": "6",
    "train.checkpoint_every": "2",
    "measure.test_samples": "4",
    "measure.at.every": "1",
    "measure.snapshots.every": "2",
}
EXIT_CODES = frozenset({0, 1, 2, 3, 4, 75, 130})
"""Every code that a command may end with."""

DATA_SUFFIXES = (".json", ".parquet", ".safetensors")


@dataclass(frozen=True)
class Answer:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        """The line that says why a command was refused."""
        return self.err.strip().splitlines()[-1] if self.err.strip() else ""


def command(*arguments: str) -> Answer:
    """Run one command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(list(arguments))
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
    return Answer(code, out.getvalue(), err.getvalue())


def tiny_options(**changes: str) -> list[str]:
    """Options of a run that takes a fraction of a second; `changes` have `__` for the dot."""
    values = {**SIZES, **{key.replace("__", "."): value for key, value in changes.items()}}
    return ["--preset", "redrawn", *(text for key, value in values.items() for text in (f"--{key}", value))]


def train_line(out: Path, *, seed: int = 0, extra: Sequence[str] = (), **changes: str) -> list[str]:
    """The command line of a tiny training."""
    return ["train", "minimal", *tiny_options(**changes), "--seed", str(seed), "--out", str(out), "-q", *extra]


def probe_line(models: Path | str, out: Path) -> list[str]:
    """The command line of a tiny probe."""
    size = ["--sequences", "2", "--length", "8", "--lags", "8", "--no-induction"]
    return ["probe", str(models), *size, "--out", str(out), "-q"]


def run_folders(root: Path) -> list[Path]:
    """Every run below an output root."""
    return sorted(path.parent for path in root.glob("*/*/config.json"))


def data_of(run: Path) -> dict[str, bytes]:
    """Every data file of a run but the manifest, which holds times."""
    return {
        path.name: path.read_bytes()
        for path in sorted(run.iterdir())
        if path.suffix in DATA_SUFFIXES and not path.name.startswith(".") and path.name != "manifest.json"
    }


def data_below(root: Path) -> dict[str, dict[str, bytes]]:
    """`data_of` every run below a root, by its place."""
    return {str(run.relative_to(root)): data_of(run) for run in run_folders(root)}


def difference(one: dict[str, dict[str, bytes]], other: dict[str, dict[str, bytes]]) -> str:
    """The first place where two roots differ; empty where they are the same."""
    for run in sorted(one.keys() | other.keys()):
        left, right = one.get(run, {}), other.get(run, {})
        for name in sorted(left.keys() | right.keys()):
            if left.get(name) != right.get(name):
                how = "differs" if name in left and name in right else "is missing" if name in left else "is too much"
                return f"{run}/{name} {how}"
    return ""


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A folder in memory where there is one, because a battery syncs many small files; gone afterwards."""
    memory = Path("/dev/shm")
    home = memory if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2e9 else None
    with tempfile.TemporaryDirectory(prefix="headwise-faults-", dir=home) as folder:
        yield Path(folder)


@contextlib.contextmanager
def without_git() -> Iterator[None]:
    """Runs ask git for the commit of their sources, three processes each; thousands of tiny runs go without."""
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = ""
    try:
        yield
    finally:
        os.environ["PATH"] = before
