"""What each extra brings: distributions, megabytes, seconds to install; writes the table of docs/reference/extras.md.

    python scripts/measure_extras.py dist/headwise-0.1.0-py3-none-any.whl --constraints constraints.txt
    python scripts/measure_extras.py dist/*.whl --constraints constraints.txt --write docs/reference/extras.md

The core is installed with a wheel into an empty environment, `train` into a copy of that, and every other extra into a
copy of the one that it builds on, so that nothing is installed twice; a row is the sum of these steps. Everything is
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
    "track": "sending what is measured to a tracker; Zarr",
    "lightning": "watching in Lightning",
    "all": "all of these",
    "docs": "building this site",
}
BEGIN, END = "<!-- measured by scripts/measure_extras.py -->", "<!-- end of measurement -->"
HEAD = ("install", "for", "distributions", "MB", "seconds of the processor", "seconds on the clock")
EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]


@dataclass(frozen=True)
class Installed:
    """What is in an environment, and the seconds of pip that it took; pip and headwise themselves are not counted."""

    distributions: int
    megabytes: float
    processor: float
    clock: float


def base_of(extra: str) -> str | None:
    """What is installed before an extra: `train` where it includes that, else the core."""
    if not extra:
        return None
    with_train = any("train" in one for one in EXTRAS[extra] if one.startswith("headwise["))
    return "train" if with_train else ""


def install(what: str, *, folder: Path, extra: str, base: Installed | None) -> Installed:
    """Install into a copy of the base, or into an empty environment, and measure what is there afterwards."""
    venv = folder / f"venv-{extra}"
    if base is None:
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    else:
        # Files are linked, not copied: pip adds to them and replaces none.
        subprocess.run(["cp", "-al", folder / f"venv-{base_of(extra)}", venv], check=True)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-q"]
    used, began = processor_seconds(), time.monotonic()
    subprocess.run([*pip, "install", "--no-index", "--find-links", folder / "wheels", what], check=True)
    used, clock = processor_seconds() - used, time.monotonic() - began
    [packages] = venv.glob("lib/python*/site-packages")
    own = ("headwise", "headwise-", "pip", "pip-", "setuptools", "setuptools-", "_distutils_hack", "pkg_resources")
    others = [one for one in packages.iterdir() if not (one.name in own or one.name.startswith(own[1::2]))]
    files = (file for one in others for file in ([one] if one.is_file() else one.rglob("*")) if file.is_file())
    size = sum(file.stat().st_size for file in files) / 1e6
    count = sum(one.suffix == ".dist-info" for one in others)
    before = base or Installed(0, 0.0, 0.0, 0.0)
    return Installed(count, size, before.processor + used, before.clock + clock)


def processor_seconds() -> float:
    """Of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(wheel: Path, *, constraints: Path | None, folder: Path) -> dict[str, Installed]:
    """Every extra of the table."""
    names = {extra: f"{wheel.resolve()}[{extra}]" if extra else str(wheel.resolve()) for extra in WORKS}
    exact = ["-c", str(constraints.resolve())] if constraints else []
    download = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "-w", str(folder / "wheels")]
    subprocess.run([*download, *exact, f"{wheel.resolve()}[all,docs]"], check=True)
    found: dict[str, Installed] = {}
    for extra, what in names.items():
        base = base_of(extra)
        found[extra] = install(what, folder=folder, extra=extra, base=None if base is None else found[base])
        print(extra or "headwise", found[extra], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--constraints", type=Path, help="a file of exact versions")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(given.wheel, constraints=given.constraints, folder=Path(folder))
    rows = [HEAD, tuple(["---"] * len(HEAD))]
    for extra, one in found.items():
        numbers = (f"{one.distributions}", f"{one.megabytes:.0f}", f"{one.processor:.0f}", f"{one.clock:.0f}")
        rows.append((f"`headwise[{extra}]`" if extra else "`headwise`", WORKS[extra], *numbers))
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    versions = f" with {given.constraints.name}" if given.constraints else ""
    where = (
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {given.wheel.name}{versions}, "
        "installed by pip from files that were downloaded before; bytecode counted, headwise itself not."
    )
    if given.write:
        page = given.write.read_text(encoding="utf-8")
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        replace_file(given.write, f"{before}{BEGIN}\n{table}\n\n{where}\n{END}{after}")
    else:
        print(table)


if __name__ == "__main__":
    main()
