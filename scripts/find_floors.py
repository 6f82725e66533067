"""Whether the lowest versions that pyproject.toml allows work, and how much lower each could be.

    python scripts/find_floors.py                       # the floors as they are: every room's tests
    python scripts/find_floors.py --rooms store view    # some rooms
    python scripts/find_floors.py --folder floors --write docs/reference/extras.md    # keep all, and make the table
    python scripts/find_floors.py --search shtab rich   # go down from the floor while tests pass

Needs uv, which chooses the versions, and a package index. pip installs them into an environment of its own: the lowest
version of every direct requirement (of the core and of the extras in `EXTRAS`), headwise from the sources beside this
file and the newest pytest; the tests of each room that are not slow run there. In a folder that is kept, results are
kept too: rooms can be tried one by one before the table is made. A search tries the first release of each lower minor
version that has a wheel for this Python, with the tests of the rooms that import the library, and stops at the first
that fails or does not fit the others' floors.
"""

from __future__ import annotations

import argparse
import ast
import json
import platform
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
EXTRAS = ("train", "probe", "cluster", "lightning", "mlflow", "track", "trackio")
TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "jsonschema", "pyyaml", "setuptools", "playwright")
IMPORTED_AS = {"dask-jobqueue": "dask_jobqueue", "mlflow-skinny": "mlflow"}
NOT_HERE = ("browser", "docs", "faults", "examples", "recipes")
"""Folders of tests that need more than these requirements, or try what other folders try."""
BEGIN, END = "<!-- measured by scripts/find_floors.py -->", "<!-- end of floors -->"


def requirements() -> list[Requirement]:
    """What the core and the extras ask for directly."""
    texts = [*PROJECT["dependencies"], *(one for extra in EXTRAS for one in PROJECT["optional-dependencies"][extra])]
    return [Requirement(text) for text in texts if not text.startswith("headwise")]


def extra_of(library: str) -> str:
    """The extra that asks for a library; nothing for one of the core."""
    brings = PROJECT["optional-dependencies"]
    return next((extra for extra in EXTRAS if library in [Requirement(one).name for one in brings[extra]]), "")


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
    with urllib.request.urlopen(f"https://pypi.org/simple/{library}/", timeout=60) as answer:
        links = re.findall(r"<a ([^>]*)>([^<]+\.whl)</a>", answer.read().decode())
    fits = set(sys_tags())
    first: dict[tuple[int, int], Version] = {}
    for attributes, name in links:
        _, version, _, tags = parse_wheel_filename(name)
        if "data-yanked" in attributes or version.is_prerelease or not tags & fits or version >= floor(library):
            continue
        key = (version.major, version.minor)
        first[key] = min(first.get(key, version), version)
    return sorted(first.values(), reverse=True)


def environment(folder: Path, *, exactly: str = "") -> str | None:
    """Make an environment of lowest versions there; the reason where the requirements do not fit together."""
    name = Requirement(exactly).name if exactly else ""
    asked = [str(one) for one in requirements() if one.name != name] + ([exactly] if exactly else [])
    (folder / "floors.txt").write_text("\n".join(asked) + "\n", encoding="utf-8")
    done = subprocess.run(
        ["uv", "pip", "compile", "-q", "--python", sys.executable, "--resolution", "lowest-direct", "--no-annotate",
         "--no-header", folder / "floors.txt", "-o", folder / "chosen.txt"],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        return " ".join(done.stderr.split())
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    install = [folder / "venv" / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*install, "-r", folder / "chosen.txt"], check=True)
    subprocess.run([*install, "-c", folder / "chosen.txt", *TOOLS], check=True)
    subprocess.run([*install, "--no-deps", "-e", ROOT], check=True)
    (folder / "chosen.txt").replace(folder / "pins.txt")  # last: an environment that has it is whole
    return None


def passes(folder: Path, room: str) -> bool:
    """Run the tests of a room, print one line about them, and keep how many passed, failed and were skipped."""
    began = time.monotonic()
    done = subprocess.run(
        [folder / "venv" / "bin" / "python", "-m", "pytest", "-m", "not slow", f"tests/{room}", "-o", "addopts=",
         "--timeout=900", "--tb=line", "--no-header", "-p", "no:cacheprovider"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    last = (done.stdout.strip().splitlines() or [done.stderr.strip()])[-1]
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|errors?|skipped)", last)}
    well = done.returncode == 0 and counts.get("passed", 0) > 0
    print(f"  {room:10} {'passes' if well else 'FAILS'}  {last.strip(' =')}  ({time.monotonic() - began:.0f} s)")
    if not well:
        print(
            "\n".join(line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR", "E  ", "/")))[
                :3000
            ]
        )
    sys.stdout.flush()
    kept = results(folder)
    kept[room] = {"passed": counts.get("passed", 0), "skipped": counts.get("skipped", 0), "well": int(well)}
    (folder / "results.json").write_text(json.dumps(kept, indent=1), encoding="utf-8")
    return well


def results(folder: Path) -> dict[str, dict[str, int]]:
    """What was found in this environment so far, by room."""
    kept = folder / "results.json"
    found: dict[str, dict[str, int]] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    return found


def versions(folder: Path) -> dict[str, str]:
    """What is installed there, by name."""
    pins = (pin.partition("==") for pin in (folder / "pins.txt").read_text(encoding="utf-8").split())
    return {name.lower().replace("_", "-"): version for name, _, version in pins}


def table(folder: Path) -> str:
    """What was tried with which versions: a row for each library, and a sentence about the tests."""
    installed, found = versions(folder), results(folder)
    rows = [("library", "for", "at least", "tried"), ("---",) * 4]
    for one in sorted(
        requirements(), key=lambda one: EXTRAS.index(extra_of(one.name)) + 1 if extra_of(one.name) else 0
    ):
        extra = extra_of(one.name)
        rows.append((one.name, f"`{extra}`" if extra else "the core", str(floor(one.name)), installed[one.name]))
    well = sorted(room for room, result in found.items() if result["well"])
    failed, untried = sorted(set(found) - set(well)), sorted(set(rooms()) - set(found))
    passed, skipped = (sum(found[room][word] for room in well) for word in ("passed", "skipped"))
    words = [
        f"All of these together, Python {platform.python_version()}, {platform.system()} {platform.machine()}: "
        f"{passed} tests of {len(well)} rooms passed ({', '.join(well)}), {skipped} were skipped."
    ]
    words += [f"Tests of {', '.join(failed)} failed."] if failed else []
    words += [f"Not tried: {', '.join(untried)}."] if untried else []
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n\n" + " ".join(words)


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
    parser.add_argument(
        "--rooms", nargs="*", default=rooms(), metavar="ROOM", help="none of them with nothing after it"
    )
    parser.add_argument("--search", nargs="+", default=[], metavar="LIBRARY")
    parser.add_argument("--folder", type=Path, help="keep the environment and the results here, and use them again")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table of what was found into a page")
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
        installed = versions(folder)
        print(*(f"{one.name}=={installed[one.name]}" for one in requirements()), sep="  ", flush=True)
        verdicts = [passes(folder, room) for room in given.rooms]
        if given.write:
            from headwise.core.atomic import replace_file  # only here: what tries the floors has no headwise itself

            page = given.write.read_text(encoding="utf-8")
            before, after = page.partition(BEGIN)[0], page.partition(END)[2]
            replace_file(given.write, f"{before}{BEGIN}\n{table(folder)}\n{END}{after}")
        return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
