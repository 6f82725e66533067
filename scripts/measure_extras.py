"""What each extra installs: distributions, megabytes, seconds; writes the table of docs/reference/extras.md.

    python scripts/measure_extras.py dist/headwise-0.1.0-py3-none-linux_x86_64.whl --write docs/reference/extras.md

Each extra goes into an empty virtual environment of its own. Seconds depend on the network and on pip's cache.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXTRAS = ("", "train", "probe", "sweep", "cluster", "notebook", "all")
WORKS = {
    "": "reading, detecting, drawing, the flow and the theory",
    "train": "training, watching torch models",
    "probe": "Hugging Face models and checkpoints",
    "sweep": "many runs on the cores here",
    "cluster": "many runs on Slurm or a dask scheduler",
    "notebook": "the page inside a notebook",
    "all": "everything",
}
BEGIN, END = "<!-- measured by scripts/measure_extras.py -->", "<!-- end of measurement -->"


def measure(wheel: Path, extra: str, constraints: Path) -> tuple[str, ...]:
    """One row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        venv = Path(folder) / "venv"
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        what = f"{wheel}[{extra}]" if extra else str(wheel)
        python = venv / "bin" / "python"
        began = time.monotonic()
        install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", constraints, what]
        subprocess.run(install, check=True)
        installed = time.monotonic() - began
        packages = next((venv / "lib").glob("python*/site-packages"))
        size = sum(file.stat().st_size for file in packages.rglob("*") if file.is_file() and "pip" not in file.parts)
        count = len([one for one in packages.glob("*.dist-info") if not one.name.startswith(("pip-", "setuptools-"))])
        began = time.monotonic()
        subprocess.run([venv / "bin" / "headwise", "--help"], check=True, capture_output=True)
        helped = time.monotonic() - began
    name = f"`headwise[{extra}]`" if extra else "`headwise`"
    return name, WORKS[extra], str(count), f"{size / 1e6:.0f}", f"{installed:.0f}", f"{helped:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--extras", nargs="*", default=EXTRAS)
    parser.add_argument("--constraints", type=Path, default=Path("constraints.txt"))
    parser.add_argument("--write", type=Path, metavar="PAGE")
    given = parser.parse_args()
    head = ("install", "for", "distributions", "MB", "seconds to install", "seconds of `headwise --help`")
    rows = [head, ("---",) * len(head)]
    for extra in given.extras:
        rows.append(measure(given.wheel.resolve(), extra, given.constraints.resolve()))
        print(" | ".join(rows[-1]), flush=True)
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    where = (
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, versions of `constraints.txt`."
    )
    if given.write:
        page = given.write.read_text(encoding="utf-8")
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        given.write.write_text(f"{before}{BEGIN}\n{table}\n\n{where}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
