"""A built wheel, tried from outside: an empty virtual environment, a folder of its own, every command once.

    python scripts/smoke_wheel.py dist/headwise-0.1.0-py3-none-any.whl
    python scripts/smoke_wheel.py dist/*.whl --extras train --python python3.13

Without the extra `train`, commands that need torch must say so in one line. Prints what it installed (distributions and
megabytes), how long that took, and a line per command; ends with 1 where one did not do as it should.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SMALL = "--preset redrawn --task.d 6 --task.T 5 --train.samples 60 --train.batch 20 --measure.test_samples 30 --steps 4"
FLOW = "runs/flow"
COMMANDS: dict[str, tuple[str, ...]] = {
    "flow": ("flow --T 5 --t-end 30 --points 40 --figure flow.png",),
    "list": ("list", "list --runs runs"),
    "show": ("show RUN --figure run.png",),
    "phases": ("phases RUN",),
    "report": ("report RUN -o run.html",),
    "check": ("check ordering --trials 3",),
    "reproduce": ("reproduce --list", "reproduce order --dry-run"),
    "collect": ("collect runs -o collected",),
    "diagram": ("diagram collected/runs.parquet --x config.T --y seed --value stages -o d.png",),
    "verify": ("verify runs",),
    "schema": ("schema", "schema flow", "schema cluster"),
    "completion": ("completion bash", "completion zsh", "completion fish"),
    "train": (f"train minimal {SMALL} -q", f"train minimal {SMALL} --dry-run"),
    "sweep": (f"sweep minimal {SMALL} --seeds 0..1 -q", f"sweep minimal {SMALL} --seeds 0..1 --dry-run"),
    "branch": ("branch nothing --at 2 --do sham",),
    "probe": ("probe nothing",),
    "bench": ("bench --help",),
}
"""Command lines for every command; RUN stands for the flow that `flow` keeps."""

NEEDS_TORCH = {f"train minimal {SMALL} -q", f"sweep minimal {SMALL} --seeds 0..1 -q", "probe nothing"}
REFUSED = {
    "probe nothing": "nothing",
    "branch nothing --at 2 --do sham": "headwise: ",
    "diagram collected/runs.parquet --x config.T --y seed --value stages -o d.png": "headwise: ",
}
"""What is asked for wrongly, and a word of the one line that says so."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--extras", default="", help="such as train or train,probe")
    parser.add_argument("--python", default=sys.executable, help="the Python to try it with")
    parser.add_argument(
        "--venv", type=Path, help="an environment with everything the wheel needs; only it is installed"
    )
    parser.add_argument("--constraints", type=Path, help="a file of exact versions")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return try_wheel(given, Path(folder))


def try_wheel(given: argparse.Namespace, folder: Path) -> int:
    venv = given.venv or folder / "venv"
    if given.venv is None:
        subprocess.run([given.python, "-m", "venv", str(venv)], check=True)
    what = f"{given.wheel.resolve()}[{given.extras}]" if given.extras else str(given.wheel.resolve())
    began = time.monotonic()
    exact = ["-c", str(given.constraints.resolve())] if given.constraints else []
    install = [venv / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *exact, what]
    subprocess.run([*install, *(["--no-deps", "--force-reinstall"] if given.venv else [])], check=True)
    seconds = time.monotonic() - began
    packages = next((venv / "lib").glob("python*/site-packages"))
    size = sum(file.stat().st_size for file in packages.rglob("*") if file.is_file())
    count = len(list(packages.glob("*.dist-info"))) - 1
    print(
        f"{given.wheel.name} [{given.extras}]: {count} distributions, {size / 1e6:.0f} MB, installed in {seconds:.0f} s"
    )
    work = folder / "work"
    work.mkdir()
    answers = [one(venv, work, line, with_torch=has_torch(venv)) for line in lines(venv)]
    return 0 if all(answers) else 1


def has_torch(venv: Path) -> bool:
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    return subprocess.run([venv / "bin" / "python", "-c", look]).returncode == 0


def lines(venv: Path) -> list[str]:
    """Every command line; a command that is not listed above is an error."""
    shown = subprocess.run([venv / "bin" / "headwise", "--help"], capture_output=True, text=True, check=True).stdout
    there = set(re.findall(r"^    ([a-z]+)(?:  |$)", shown, re.MULTILINE))
    if there != set(COMMANDS):
        raise SystemExit(f"commands without a line here, or lines without a command: {there ^ set(COMMANDS)}")
    return [line for several in COMMANDS.values() for line in several]


def one(venv: Path, work: Path, line: str, *, with_torch: bool) -> bool:
    """Run one command line and say whether it did as it should."""
    words = [str(next((work / FLOW).iterdir())) if word == "RUN" else word for word in line.split()]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [venv / "bin" / "headwise", *words], cwd=work, env=environment, capture_output=True, text=True, timeout=600
    )
    error = done.stderr.strip()
    if line in NEEDS_TORCH and not with_torch:
        well = done.returncode == 2 and "headwise[train]" in error and len(error.splitlines()) == 1
    elif line in REFUSED:
        well = done.returncode == 2 and REFUSED[line] in error and "Traceback" not in error
    else:
        well = done.returncode == 0
    print(f"  {'as it should' if well else 'WRONG'}  {done.returncode}  headwise {line}")
    if not well:
        print(error)
    elif "kernel" in error:
        print(f"    {error.splitlines()[0]}")
    return well


if __name__ == "__main__":
    sys.exit(main())
