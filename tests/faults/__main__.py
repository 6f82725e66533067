"""Run the battery: every part in a process of its own, two at a time, and write what was counted."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headwise.store.manifest import library_versions, source_commit
from tests.faults.counts import CLOCK_FACTOR, FAULTS
from tests.faults.page import COUNTS, PAGE, render
from tests.faults.parts import PARTS, Part

AT_A_TIME = 2
GRACE_SECONDS = 300.0
"""How long after its time a part may take to end."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    names = [part.name for part in PARTS]
    parser.add_argument("--parts", nargs="+", choices=names, default=names, help="default: all")
    parser.add_argument("--share", type=float, default=1.0, help="of every count and time (default: 1)")
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn (default: 0)")
    parser.add_argument("--to", type=Path, help="JSON for the counts; default, with share 1: docs/reliability.json")
    parser.add_argument("--one", choices=names, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    chosen = [part for part in PARTS if part.name in given.parts]
    if given.one:
        [part] = [part for part in PARTS if part.name == given.one]
        counts = part.run(_count(part, given.share), seconds=60 * part.minutes * given.share, seed=given.seed)
        given.to.write_text(json.dumps(counts.to_json()))
        return 0
    began = time.monotonic()
    results = _run_all(chosen, share=given.share, seed=given.seed)
    print(f"{len(chosen)} parts in {(time.monotonic() - began) / 60:.0f} minutes", file=sys.stderr)
    target = given.to or (COUNTS if given.share == 1 else None)
    document = {
        "schema": 1,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.system(),
        "versions": library_versions(),
        "parts": _with_earlier(results, target),
    }
    if target is not None:
        target.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if target == COUNTS:
        PAGE.write_text(render(document), encoding="utf-8")
    for result in results:
        print(_line(result))
        for finding in result["findings"]:
            print(f"    {finding}")
    return 0 if all(result["passed"] for result in results) else 1


def _with_earlier(results: Sequence[dict[str, Any]], target: Path | None) -> list[dict[str, Any]]:
    """These results, and those of the other parts that are stored: a part that found something is run again alone."""
    commit = source_commit()
    known = {} if target is None or not target.exists() else json.loads(target.read_text(encoding="utf-8"))
    found = {result["part"]: result for result in known.get("parts", ())}
    found |= {result["part"]: {**result, "commit": commit} for result in results}
    return [found[part.name] for part in PARTS if part.name in found]


def _count(part: Part, share: float) -> int:
    return max(1, round(part.count * share))


def _run_all(parts: Sequence[Part], *, share: float, seed: int) -> list[dict[str, Any]]:
    results: dict[str, dict[str, Any]] = {}
    waiting, running = list(parts), {}
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            while waiting and len(running) < AT_A_TIME:
                part = waiting.pop(0)
                to, log = Path(folder) / f"{part.name}.json", Path(folder) / f"{part.name}.log"
                command = [sys.executable, "-m", "tests.faults", "--one", part.name, "--to", str(to)]
                command += ["--share", str(share), "--seed", str(seed)]
                with log.open("w") as file:
                    running[part] = (subprocess.Popen(command, stdout=file, stderr=file), to, log, time.monotonic())
            for part, (process, to, log, began) in list(running.items()):
                late = time.monotonic() - began > CLOCK_FACTOR * 60 * part.minutes * share + GRACE_SECONDS
                if late:
                    process.kill()
                    process.wait()
                if process.poll() is not None:
                    del running[part]
                    why = "it took too long" if late else f"it ended with {process.returncode}"
                    said = f"{why}: {log.read_text()[-1500:]}"
                    results[part.name] = json.loads(to.read_text()) if to.exists() else _broken(part, share, seed, said)
                    print(_line(results[part.name]), file=sys.stderr, flush=True)
            time.sleep(0.2)
    return [results[part.name] for part in parts]


def _broken(part: Part, share: float, seed: int, why: str) -> dict[str, Any]:
    nothing = dict.fromkeys(FAULTS, 0)
    return {
        "part": part.name, "seed": seed, "wanted": _count(part, share), "tried": 0, **nothing, "passed": False,
        "not_possible": why, "seconds": 0, "computed_seconds": 0,
        "share_seconds": round(60 * part.minutes * share), "kinds": {},
        "findings": [],
    }  # fmt: skip


def _line(result: dict[str, Any]) -> str:
    found = ", ".join(f"{result[fault]} {fault}" for fault in FAULTS)
    word = "passed" if result["passed"] else "NOT PASSED"
    why = f" ({result['not_possible']})" if result["not_possible"] else ""
    return f"{result['part']:<8} {word}: {result['tried']} of {result['wanted']} in {result['seconds']} s; {found}{why}"


if __name__ == "__main__":
    sys.exit(main())
