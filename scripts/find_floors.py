"""Whether the lowest versions that pyproject.toml allows work, and how much lower each could be.

    python scripts/find_floors.py                       # the floors as they are: every room's tests
    python scripts/find_floors.py --rooms store view    # some rooms
    python scripts/find_floors.py --search shtab rich   # go down from the floor while tests pass

Needs uv and a package index. An environment of its own gets the lowest version of every direct requirement (of the core
and the extras train, probe and cluster) and the newest pytest; the tests of each room that are not slow run there, on
the sources beside this file. A search tries the first release of each lower minor version that has a wheel for this
Python, with the tests of the rooms that import the library, and stops at the first that fails or does not fit the
others' floors.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request
from pathlib import Path

from packaging.requirements import Requirement
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ("train", "probe", "cluster")
TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "jsonschema", "pyyaml", "setuptools", "playwright")
IMPORTED_AS = {"dask-jobqueue": "dask_jobqueue"}
NOT_HERE = ("browser", "docs", "faults", "examples", "recipes", "track")
"""Folders of tests that need more than these requirements, or try what other folders try."""


def requirements() -> list[Requirement]:
    """What the core and the extras ask for directly."""
    texts = [*PROJECT["dependencies"], *(one for extra in EXTRAS for one in PROJECT["optional-dependencies"][extra])]
    return [Requirement(text) for text in texts if not text.startswith("headwise")]


def floor(library: str) -> Version:
    [one] = [one for one in requirements() if one.name == library]
    [specifier] = one.specifier
    return Version(specifier.version)


def rooms() -> list[str]:
    folders = (folder.name for folder in (ROOT / "tests").iterdir() if any(folder.glob("test_*.py")))
    return sorted(set(folders) - set(NOT_HERE))


def rooms_of(library: str) -> list[str]:
    """Rooms with tests of their own whose sources import a library."""
    name, found = IMPORTED_AS.get(library, library), set()
    for file in (ROOT / "src" / "headwise").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(module.partition(".")[0] == name for module in modules):
                found.add(file.relative_to(ROOT / "src" / "headwise").parts[0])
    return sorted(found & set(rooms()))


def lower_releases(library: str) -> list[Version]:
    """The first release of each minor version below the floor that has a wheel for this Python, newest first."""
    with urllib.request.urlopen(f"https://pypi.org/pypi/{library}/json", timeout=60) as answer:
        releases = json.load(answer)["releases"]
    fits = set(sys_tags())
    first: dict[tuple[int, int], Version] = {}
    for text, files in releases.items():
        if not re.fullmatch(r"[\d.]+", text):
            continue
        wheels = (file["filename"] for file in files if file["filename"].endswith(".whl") and not file["yanked"])
        if any(parse_wheel_filename(name)[3] & fits for name in wheels) and Version(text) < floor(library):
            key = (Version(text).major, Version(text).minor)
            first[key] = min(first.get(key, Version(text)), Version(text))
    return sorted(first.values(), reverse=True)


def environment(folder: Path, *, exactly: str = "") -> str | None:
    """Make an environment of lowest versions there; the reason where the requirements do not fit together."""
    name = Requirement(exactly).name if exactly else ""
    asked = [str(one) for one in requirements() if one.name != name] + ([exactly] if exactly else [])
    (folder / "floors.txt").write_text("\n".join(asked) + "\n", encoding="utf-8")
    subprocess.run(["uv", "venv", "-q", "--python", sys.executable, folder / "venv"], check=True)
    install = ["uv", "pip", "install", "-q", "--python", folder / "venv"]
    done = subprocess.run(
        [*install, "--resolution", "lowest-direct", "-r", folder / "floors.txt"], capture_output=True, text=True
    )
    if done.returncode:
        return " ".join(done.stderr.split())
    pins = subprocess.run([*install[:2], "freeze", *install[4:]], capture_output=True, text=True, check=True).stdout
    (folder / "pins.txt").write_text(pins, encoding="utf-8")
    subprocess.run([*install, "-c", folder / "pins.txt", *TOOLS], check=True)
    return None


def passes(folder: Path, room: str) -> bool:
    """Run the tests of a room and print one line about them."""
    began = time.monotonic()
    done = subprocess.run(
        [folder / "venv" / "bin" / "python", "-m", "pytest", "-q", "-m", "not slow", f"tests/{room}"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True,
    )  # fmt: skip
    last = (done.stdout.strip().splitlines() or [done.stderr.strip()])[-1]
    print(f"  {room:10} {'passes' if done.returncode == 0 else 'FAILS'}  {last}  ({time.monotonic() - began:.0f} s)")
    if done.returncode:
        print(
            "\n".join(line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR", "E  ")))[:3000]
        )
    sys.stdout.flush()
    return done.returncode == 0


def search(library: str) -> None:
    """Go down from the floor while the tests of the library's rooms pass."""
    lowest, why = floor(library), "no lower release has a wheel for this Python"
    for version in lower_releases(library):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            reason = environment(folder, exactly=f"{library}=={version}")
            if reason is not None:
                why = f"{version} does not fit the others: {reason[:200]}"
                break
            print(f"{library} {version}", flush=True)
            if not all(passes(folder, room) for room in rooms_of(library)):
                why = f"{version} fails"
                break
            lowest = version
    print(f"{library}: floor {floor(library)}, lowest that passes {lowest} ({why})", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rooms", nargs="+", default=rooms(), metavar="ROOM")
    parser.add_argument("--search", nargs="+", default=[], metavar="LIBRARY")
    parser.add_argument("--folder", type=Path, help="keep the environment here, and use it again")
    given = parser.parse_args()
    for library in given.search:
        search(library)
    if given.search:
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        if not (folder / "pins.txt").exists():
            folder.mkdir(parents=True, exist_ok=True)
            reason = environment(folder)
            if reason is not None:
                raise SystemExit(reason)
        direct = {one.name.lower().replace("_", "-") for one in requirements()}
        pins = (folder / "pins.txt").read_text(encoding="utf-8").split()
        print(*(pin for pin in pins if pin.partition("==")[0].lower() in direct), sep="  ", flush=True)
        verdicts = [passes(folder, room) for room in given.rooms]
        return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
