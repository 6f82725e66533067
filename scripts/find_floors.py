"""Whether the lowest versions that pyproject.toml allows work, and how much lower each could be.

    python scripts/find_floors.py                       # the floors as they are: every room's tests
    python scripts/find_floors.py --rooms store view    # some rooms
    python scripts/find_floors.py --environments probe  # one of the two
    python scripts/find_floors.py --folder floors --write docs/reference/extras.md    # keep all, and make the tables
    python scripts/find_floors.py --search shtab rich   # go down from the floor while tests pass

Needs uv, which chooses the versions, and a package index. pip installs them into two environments of their own, `train`
without the extra `probe` and `probe` with it, because `probe` needs a newer torch: the lowest version of every direct
requirement, headwise from the sources beside this file and the newest pytest. The tests of each room that are not slow
run in `train`; those of rooms with tests of Hugging Face models run in `probe` too. In a folder that is kept, results
are kept too: rooms can be tried one by one before the tables are made. A search tries the first release of each lower
minor version that has a wheel for this Python, with the tests of the rooms that import the library, and stops at the
first that fails or does not fit the others' floors.
"""

from __future__ import annotations

import argparse
import ast
import json
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ("train", "cluster", "lightning", "mlflow", "track", "trackio")
ENVIRONMENTS = {"train": EXTRAS, "probe": (*EXTRAS, "probe")}
"""Extras by environment."""
TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "jsonschema", "pyyaml", "setuptools", "playwright")
IMPORTED_AS = {"dask-jobqueue": "dask_jobqueue", "mlflow-skinny": "mlflow"}
NOT_HERE = ("browser", "docs", "faults", "examples", "recipes")
"""Folders of tests that need more than these requirements, or try what other folders try."""
BEGIN, END = "<!-- measured by scripts/find_floors.py -->", "<!-- end of floors -->"


def asked_by(extra: str) -> list[Requirement]:
    """What an extra asks for directly; the core where it is empty."""
    texts = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    return [Requirement(text) for text in texts if not text.startswith("headwise")]


def requirements(environment: str) -> list[Requirement]:
    """What the core and the extras of an environment ask for directly; what two of them ask for comes twice."""
    return [one for extra in ("", *ENVIRONMENTS[environment]) for one in asked_by(extra)]


def lowest(one: Requirement) -> Version:
    [specifier] = one.specifier
    return Version(specifier.version)


def floor(library: str, environment: str) -> Version:
    return max(lowest(one) for one in requirements(environment) if one.name == library)


def rooms(environment: str) -> list[str]:
    """Folders of tests that are tried in an environment: all in `train`, those that load transformers in `probe`."""
    tests = {folder.name: [*folder.glob("test_*.py")] for folder in (ROOT / "tests").iterdir()}
    loads = re.compile(r"importorskip\(.transformers|^ *(import|from) transformers", re.MULTILINE)
    return sorted(
        room
        for room, files in tests.items()
        if files
        and room not in NOT_HERE
        and (environment == "train" or any(loads.search(file.read_text(encoding="utf-8")) for file in files))
    )


def rooms_of(library: str) -> list[str]:
    """Rooms with tests of their own whose sources import a library."""
    name, found = IMPORTED_AS.get(library, library), set()
    for file in (ROOT / "src" / "headwise").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(module.partition(".")[0] == name for module in modules):
                found.add(file.relative_to(ROOT / "src" / "headwise").parts[0])
    return sorted(found & set(rooms("train")))


def lower_releases(library: str, than: Version) -> list[Version]:
    """The first release of each minor version below the floor that has a wheel for this Python, newest first."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", "--only-binary=:all:", library],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    listed = re.search(r"^Available versions: (.*)$", done.stdout, re.MULTILINE)
    first: dict[tuple[int, int], Version] = {}
    for version in map(Version, listed[1].split(", ") if listed else []):
        if version < than:
            key = (version.major, version.minor)
            first[key] = min(first.get(key, version), version)
    return sorted(first.values(), reverse=True)


def make(environment: str, folder: Path, *, exactly: str = "") -> str | None:
    """Make an environment of lowest versions there; the reason where the requirements do not fit together."""
    name = Requirement(exactly).name if exactly else ""
    asked = [str(one) for one in requirements(environment) if one.name != name] + ([exactly] if exactly else [])
    (folder / "floors.txt").write_text("\n".join(asked) + "\n", encoding="utf-8")
    done = subprocess.run(
        ["uv", "pip", "compile", "-q", "--python", sys.executable, "--resolution", "lowest-direct", "--no-annotate",
         "--no-header", folder / "floors.txt", "-o", folder / "chosen.txt"],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        return " ".join(done.stderr.split())
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    install = [str(folder / "venv" / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
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
    failed = sum(counts.get(word, 0) for word in ("failed", "error", "errors")) or int(not well)
    kept[room] = {"passed": counts.get("passed", 0), "failed": failed, "skipped": counts.get("skipped", 0)}
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


def tables(folder: Path) -> str:
    """What was tried with which versions: a row for each requirement, and one for each room."""
    installed = {name: versions(folder / name) for name in ENVIRONMENTS}
    found = {name: results(folder / name) for name in ENVIRONMENTS}
    rows = [("library", "for", "at least", *(f"in `{name}`" for name in ENVIRONMENTS)), ("---",) * 5]
    for extra in ("", *ENVIRONMENTS["probe"]):
        for one in asked_by(extra):
            among = (installed[name][one.name] if one in requirements(name) else "" for name in ENVIRONMENTS)
            rows.append((one.name, f"`{extra}`" if extra else "the core", str(lowest(one)), *among))
    rows += [(), ("tests of", *(f"in `{name}`" for name in ENVIRONMENTS)), ("---",) * 3]
    rows += [(room, *(told(found[name], name, room) for name in ENVIRONMENTS)) for room in rooms("train")]
    where = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}."
    return "\n".join(f"| {' | '.join(row)} |" if row else "" for row in rows) + f"\n\n{where}"


def told(found: dict[str, dict[str, int]], environment: str, room: str) -> str:
    """What became of a room's tests in an environment, in a few words."""
    if room not in rooms(environment):
        return ""
    counts = found.get(room, {})
    words = [f"{counts[word]} {word}" for word in ("passed", "failed", "skipped") if counts.get(word)]
    return ", ".join(words) or "not tried"


def search(library: str) -> None:
    """Go down from the floor while the tests of the library's rooms pass."""
    environment = next(name for name in ENVIRONMENTS if library in [one.name for one in requirements(name)])
    found, why = floor(library, environment), "no lower release has a wheel for this Python"
    for version in lower_releases(library, than=found):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            reason = make(environment, folder, exactly=f"{library}=={version}")
            if reason is not None:
                why = f"{version} does not fit the others: {reason[:200]}"
                break
            print(f"{library} {version}", flush=True)
            if not all(passes(folder, room) for room in rooms_of(library)):
                why = f"{version} fails"
                break
            found = version
    print(f"{library}: floor {floor(library, environment)}, lowest that passes {found} ({why})", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rooms", nargs="*", metavar="ROOM", help="none of them with nothing after it")
    parser.add_argument("--environments", nargs="+", default=list(ENVIRONMENTS), choices=list(ENVIRONMENTS))
    parser.add_argument("--search", nargs="+", default=[], metavar="LIBRARY")
    parser.add_argument("--folder", type=Path, help="keep the environments and the results here, and use them again")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put tables of what was found into a page")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have it ignored behind `&`; tests send it
    for library in given.search:
        search(library)
    if given.search:
        return 0
    verdicts = []
    with tempfile.TemporaryDirectory() as temporary:
        kept = given.folder or Path(temporary)
        for environment in given.environments:
            folder = kept / environment
            if not (folder / "pins.txt").exists():
                folder.mkdir(parents=True, exist_ok=True)
                reason = make(environment, folder)
                if reason is not None:
                    raise SystemExit(reason)
            installed = versions(folder)
            names = dict.fromkeys(one.name for one in requirements(environment))
            print(f"{environment}:", *(f"{name}=={installed[name]}" for name in names), sep="  ", flush=True)
            wanted = rooms(environment) if given.rooms is None else given.rooms
            verdicts += [passes(folder, room) for room in wanted if room in rooms(environment)]
        if given.write:
            from headwise.core.atomic import replace_file  # only here: what tries the floors has no headwise itself

            page = given.write.read_text(encoding="utf-8")
            before, after = page.partition(BEGIN)[0], page.partition(END)[2]
            replace_file(given.write, f"{before}{BEGIN}\n{tables(kept)}\n{END}{after}")
        return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
