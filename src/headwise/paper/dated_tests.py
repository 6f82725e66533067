"""Since when each claim's test is as it is: the commit and date in which it was last changed.

A test that is changed after its runs were seen can be made to fit them. So every verdict names the commit in which its
test was last changed, beside the dates of the runs that it judged. What a test is, is the code behind it: digests of
the modules' statements, without docstrings and layout, and the date is that at which they were committed first, which
a rebase keeps. `dated_tests.json` keeps them with their commits, as a package
outside a checkout has no history. `python -m headwise.paper.dated_tests` brings the file up to date in a checkout.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import inspect
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

from headwise.core.atomic import replace_file
from headwise.store import RunDirectory

NAME = "dated_tests.json"
ROOM = "headwise.paper."
PLUMBING = ("entry", "verdict", "scale", "flows")
"""Modules of this room that tests import and that decide nothing."""

BESIDE = {"headwise.paper.stages": "headwise.paper.judged_run"}
"""What computes numbers that a test reads from the trajectory: how near a run without stages comes."""


class Judged(Protocol):
    """A claim of the paper or a causal one."""

    @property
    def judge(self) -> Callable[..., Any]: ...


def modules_of(claim: Judged) -> tuple[str, ...]:
    """The modules that a claim's test is made of: its own, and those of this room that it imports."""
    found: list[str] = []
    waiting = [claim.judge.__module__]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.append(name)
            waiting += [other for other in _imported(name) if other.removeprefix(ROOM) not in PLUMBING]
            waiting += [BESIDE[name]] if name in BESIDE else []
    return (found[0], *sorted(found[1:]))


@functools.cache
def _imported(name: str) -> tuple[str, ...]:
    tree = ast.parse(inspect.getsource(importlib.import_module(name)))
    sources = (node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module)
    return tuple(sorted({source for source in sources if source.startswith(ROOM)}))


def dated_test(claim: Judged) -> dict[str, Any]:
    """`digest`, `commit` and `date` of a claim's test; the last two are `None` where it changed since."""
    digest = digest_of(modules_of(claim))
    kept = _kept().get(digest, {})
    return {"digest": digest, "commit": kept.get("commit"), "date": kept.get("date")}


@functools.cache
def digest_of(modules: tuple[str, ...]) -> str:
    """Digits that change with any statement of these modules."""
    whole = hashlib.sha256()
    for name in modules:
        tree = ast.parse(inspect.getsource(importlib.import_module(name)))
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [one for one in body if not _is_text(one)] or [ast.Pass()]  # type: ignore[attr-defined]
        whole.update(ast.dump(tree).encode())
    return whole.hexdigest()[:16]


def _is_text(node: ast.AST) -> bool:
    """Whether a statement is a docstring, or a line about the constant above it."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def fixed_before(test: Mapping[str, Any], runs: Mapping[str, Any]) -> bool | None:
    """Whether a test was fixed before the first of its runs ended; `None` where nothing was trained or is not known.

    Where it is known when the first of them was begun (`first_begun`), it has to be older than that.
    """
    first = runs.get("first_begun") or runs.get("first_ended")
    if not test.get("date") or not first:
        return None if not first else False
    return datetime.fromisoformat(test["date"]) <= datetime.fromisoformat(first)


def begun_dates(paths: Sequence[Path]) -> dict[str, Any]:
    """`first_begun` and `last_begun` of runs, finished or not; nothing where there is none."""
    begun = sorted(
        str(line["time"])
        for path in dict.fromkeys(paths)
        for line in RunDirectory(path).read_log()
        if line.get("event") == "started"
    )
    return {"first_begun": begun[0], "last_begun": begun[-1]} if begun else {}


@functools.cache
def _kept() -> dict[str, dict[str, str]]:
    file = resources.files("headwise.paper").joinpath(NAME)
    found: dict[str, dict[str, str]] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return found


def main() -> None:
    """Write the commit and date of every digest that is not kept yet; what is committed counts, not what is edited."""
    from headwise.paper.causal.claims import CLAIMS
    from headwise.paper.entry import Claim
    from headwise.paper.manifest import ENTRIES

    kept = dict(_kept())
    present = {}
    judged: list[Judged] = [*(entry for entry in ENTRIES.values() if isinstance(entry, Claim)), *CLAIMS]
    for claim in judged:
        modules = modules_of(claim)
        digest = digest_of(modules)
        files = [str(inspect.getsourcefile(importlib.import_module(name))) for name in modules]
        present[digest] = kept.get(digest) or _last_change(files)
    path = Path(__file__).with_name(NAME)
    replace_file(path, json.dumps(present, indent=2, sort_keys=True) + "\n")
    print(f"{path}: {len(present)} tests, {sum(digest not in kept for digest in present)} new")


def _last_change(files: list[str]) -> dict[str, str]:
    folder = str(Path(files[0]).parent)
    command = ["git", "-C", folder, "log", "-1", "--format=%H %aI", "--", *files]
    commit, date = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return {"commit": commit, "date": date}


if __name__ == "__main__":
    main()
