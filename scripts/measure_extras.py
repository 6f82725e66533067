"""What each extra brings: distributions and megabytes; writes the table of docs/reference/extras.md.

    python scripts/measure_extras.py --write docs/reference/extras.md
    python scripts/measure_extras.py --wheel dist/headwise-0.1.0-py3-none-any.whl --write docs/reference/extras.md

Sizes are summed over the distributions that an extra needs, by their own metadata, as they are installed in the
environment that runs this (the one of `make test-all` has all of them); an extra with a distribution that is not there
is marked with ≥. With a wheel, each extra is also installed into an empty environment and timed, which takes minutes.
"""

from __future__ import annotations

import argparse
import platform
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from headwise.core.atomic import replace_file

ROOT = Path(__file__).resolve().parents[1]
WORKS = {
    "": "reading, detecting, drawing, the flow and the theory",
    "train": "training, watching torch models",
    "probe": "Hugging Face models and checkpoints",
    "sweep": "many runs on the cores here",
    "cluster": "many runs on Slurm or a dask scheduler",
    "notebook": "the page inside a notebook",
    "track": "sending what is measured to trackers",
    "lightning": "watching in Lightning",
    "all": "everything",
    "docs": "building this site",
}
BEGIN, END = "<!-- measured by scripts/measure_extras.py -->", "<!-- end of measurement -->"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def name_of(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()


def needed(extra: str) -> tuple[set[str], set[str]]:
    """Names of all distributions that an extra needs, and of those that are not installed here."""
    own = [*PROJECT["dependencies"], *(PROJECT["optional-dependencies"][extra] if extra else [])]
    waiting = [(Requirement(text), "") for text in own]
    seen: set[tuple[str, str]] = set()
    found, absent = set(), set()
    while waiting:
        requirement, asked = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": asked}):
            continue
        name = name_of(requirement.name)
        for inner in ("", *sorted(requirement.extras)):
            if (name, inner) in seen:
                continue
            seen.add((name, inner))
            if name == "headwise":
                waiting += [(Requirement(text), "") for text in PROJECT["optional-dependencies"].get(inner, [])]
                continue
            try:
                requires = distribution(name).requires or []
                found.add(name)
            except PackageNotFoundError:
                absent.add(name)
                continue
            waiting += [(Requirement(text), inner) for text in requires]
    return found, absent


def megabytes(names: set[str]) -> float:
    files = {file.locate() for name in names for file in distribution(name).files or []}
    return sum(Path(str(file)).stat().st_size for file in files if Path(str(file)).is_file()) / 1e6


def install_seconds(wheel: Path, extra: str) -> str:
    """Seconds of pip, into an empty environment."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        what = f"{wheel.resolve()}[{extra}]" if extra else str(wheel.resolve())
        began = time.monotonic()
        subprocess.run([Path(folder) / "bin" / "python", "-m", "pip", "install", "-q", what], check=True)
        return f"{time.monotonic() - began:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--wheel", type=Path, help="also install each extra and time it")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    given = parser.parse_args()
    rows = [["install", "for", "distributions", "MB", *(["seconds to install"] if given.wheel else [])]]
    rows.append(["---"] * len(rows[0]))
    for extra, works in WORKS.items():
        if extra and extra not in PROJECT["optional-dependencies"]:
            continue
        found, absent = needed(extra)
        least = "≥ " if absent else ""
        row = [f"`headwise[{extra}]`" if extra else "`headwise`", works, f"{least}{len(found)}"]
        row.append(f"{least}{megabytes(found):.0f}")
        rows.append([*row, *([install_seconds(given.wheel, extra)] if given.wheel else [])])
        print(" | ".join(rows[-1]), "; not here:" if absent else "", *sorted(absent), flush=True)
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    where = (
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}; headwise itself not counted."
    )
    if given.write:
        page = given.write.read_text(encoding="utf-8")
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        replace_file(given.write, f"{before}{BEGIN}\n{table}\n\n{where}\n{END}{after}")


if __name__ == "__main__":
    main()
