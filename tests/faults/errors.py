"""Errors injected into every call that touches a run: each is one line, and the next start ends bit-identical."""

from __future__ import annotations

import errno
import random
import shutil
from pathlib import Path

from tests.faults.counts import Counts, Found
from tests.faults.file_system import Tree, read_tree, write_tree
from tests.faults.injection import ERRORS, Injection, injecting
from tests.faults.readers import require_tidy
from tests.faults.workplace import command, data_below, difference, train_line, without_git, workplace

FITTING = (0, 1, 2)
"""A machine's error is never damage; one that does not matter may pass unnoticed."""


def run(counts: Counts) -> None:
    """Every call of a training, of resuming it, of recovering and of reading it, with every error that it may have."""
    with workplace() as place, without_git():
        root = place / "runs"
        line = train_line(root, train__steps="4")
        command(*line)
        finished = read_tree(root)
        expected = data_below(root)
        begun = _without_end(finished)
        scenes: list[tuple[str, Tree, list[str]]] = [
            ("training", {}, line),
            ("resuming", begun, line),
            ("recovering", begun, [*line, "--recover"]),
            ("reading", finished, line),
            ("listing", finished, ["list", "--runs", str(root)]),
            ("verifying", finished, ["verify", str(root)]),
        ]
        cases = []
        for name, before, arguments in scenes:
            calls = _calls(root, before, arguments)
            cases += [(name, before, arguments, at, error) for at, kind in enumerate(calls) for error in ERRORS[kind]]
        random.Random(counts.seed).shuffle(cases)
        counts.wanted = min(counts.wanted, len(cases))
        for number, (name, before, arguments, at, error) in enumerate(cases):
            if not counts.go_on():
                return
            lasting = number % 3 == 0
            word = errno.errorcode.get(error, "short write")
            with counts.case(f"{name}, {word}", f"call {at}{' and all like it after' if lasting else ''}"):
                _reset(root, before)
                with injecting(Injection(root, at=at, error=error, lasting=lasting)) as injection:
                    answer = command(*arguments)
                kind = injection.calls[at] if at < len(injection.calls) else "a call that did not come"
                require_tidy(answer, f"{kind} fails with {word}")
                if answer.code not in FITTING:
                    raise Found("wrong", f"{kind} fails with {word}: exit code {answer.code}, {answer.last}")
                again = command(*line)
                if again.code != 0:
                    raise Found("lost", f"after {kind} failed with {word}, exit code {again.code}: {again.last}")
                if unlike := difference(expected, data_below(root)):
                    raise Found("wrong", f"after {kind} failed with {word}, {unlike}")


def _calls(root: Path, before: Tree, arguments: list[str]) -> list[str]:
    _reset(root, before)
    with injecting(Injection(root)) as injection:
        command(*arguments)
    return injection.calls


def _reset(root: Path, tree: Tree) -> None:
    shutil.rmtree(root, ignore_errors=True)
    write_tree(root, tree)


def _without_end(tree: Tree) -> Tree:
    """As a crash before the end leaves a run: no manifest, no last checkpoint."""
    last = max(path for path in tree if "checkpoint-" in path and path.endswith(".safetensors"))
    gone = (last, f"{last}.sha256")
    return {path: content for path, content in tree.items() if "manifest.json" not in path and path not in gone}
