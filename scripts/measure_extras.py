"""What each extra brings: distributions, megabytes, seconds to install; writes the table of docs/reference/extras.md.

    python scripts/measure_extras.py dist/headwise-0.1.0-py3-none-any.whl --write docs/reference/extras.md
    python scripts/measure_extras.py dist/*.whl --constraints constraints.txt --only train

Each extra is installed with a wheel into an empty environment, one after the other, which takes minutes. Everything is
downloaded before the seconds are counted: those of the processor, which hardly depend on what else the machine does,
and those on the clock. What cannot be installed stops it.
"""

from __future__ import annotations

import argparse
import platform
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

from headwise.core.atomic import replace_file

ROOT = Path(__file__).resolve().parents[1]
WORKS = {
    "": "reading, detecting, drawing, the flow and the theory",
    "train": "training, watching torch models",
    "probe": "Hugging Face models and checkpoints",
    "sweep": "many runs on the cores here",
    "cluster": "many runs on Slurm or a dask scheduler",
    "notebook": "the page inside a notebook",
    "track": "sending what is measured to wandb or TensorBoard; Zarr",
    "lightning": "watching in Lightning",
    "all": "all of these",
    "mlflow": "sending what is measured to MLflow",
    "trackio": "sending what is measured to trackio",
    "docs": "building this site",
}
UNPINNED = ("mlflow", "trackio")
"""They want other versions than constraints.txt has."""
BEGIN, END = "<!-- measured by scripts/measure_extras.py -->", "<!-- end of measurement -->"
HEAD = ("install", "for", "distributions", "MB", "seconds of the processor", "seconds on the clock")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@dataclass(frozen=True)
class Installed:
    """What pip made of one extra; the environment's own pip and headwise itself are not counted."""

    distributions: int
    megabytes: float
    processor: float
    clock: float


def install(wheel: Path, *, extra: str, constraints: Path | None) -> Installed:
    """Install an extra into an empty environment and measure what is there afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        venv, wheels = Path(folder) / "venv", Path(folder) / "wheels"
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        [packages] = venv.glob("lib/python*/site-packages")
        before = measured(packages)
        what = f"{wheel.resolve()}[{extra}]" if extra else str(wheel.resolve())
        exact = ["-c", str(constraints.resolve())] if constraints else []
        pip = [venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "-q"]
        subprocess.run([*pip, "wheel", "-w", wheels, *exact, what], check=True)
        used, began = processor_seconds(), time.monotonic()
        subprocess.run([*pip, "install", "--no-index", "--find-links", wheels, what], check=True)
        used, clock = processor_seconds() - used, time.monotonic() - began
        after = measured(packages)
        own = sum(file.stat().st_size for file in (packages / "headwise").rglob("*") if file.is_file())
        return Installed(after[0] - before[0] - 1, (after[1] - before[1] - own) / 1e6, used, clock)


def measured(packages: Path) -> tuple[int, int]:
    """Distributions in a folder, and the bytes of all files there."""
    size = sum(file.stat().st_size for file in packages.rglob("*") if file.is_file() and not file.is_symlink())
    return len(list(packages.glob("*.dist-info"))), size


def processor_seconds() -> float:
    """Of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--constraints", type=Path, help="a file of exact versions")
    parser.add_argument("--only", nargs="+", default=list(WORKS), metavar="EXTRA", help="some extras, not all")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    given = parser.parse_args()
    rows = [HEAD, tuple(["---"] * len(HEAD))]
    for extra in given.only:
        if extra and extra not in PROJECT["optional-dependencies"]:
            raise SystemExit(f"pyproject.toml has no extra {extra}")
        one = install(given.wheel, extra=extra, constraints=None if extra in UNPINNED else given.constraints)
        name = f"`headwise[{extra}]`" if extra else "`headwise`"
        numbers = (f"{one.distributions}", f"{one.megabytes:.0f}", f"{one.processor:.0f}", f"{one.clock:.0f}")
        rows.append((name, WORKS[extra], *numbers))
        print(" | ".join(rows[-1]), flush=True)
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    versions = f" with {given.constraints.name}" if given.constraints else ""
    where = (
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {given.wheel.name}{versions}, "
        "each into an empty environment from files that were downloaded before; bytecode counted, headwise itself not."
    )
    if given.write:
        page = given.write.read_text(encoding="utf-8")
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        replace_file(given.write, f"{before}{BEGIN}\n{table}\n\n{where}\n{END}{after}")


if __name__ == "__main__":
    main()
