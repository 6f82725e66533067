"""Precision and recall of the function view: when the nearest predictor of a model changes to another class.

Each run is replayed with a corpus of the same source as its training, drawn anew. Only kinds whose law is known by
construction are scored (`laws`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headwise.zoo.functions.changes import compare, distances, said_changes, true_changes
from headwise.zoo.functions.laws import find_law
from headwise.zoo.kinds import find_kind
from headwise.zoo.replay import replay
from headwise.zoo.stored import complete_runs, read_run
from headwise.zoo.training import seeded
from headwise.zoo.wilson import share

CORPUS = 1024
"""sequences on which a report's n-grams are counted"""
COUNTS = ("clear", "hits", "false", "unscored", "missed")


def score_run(mark: Path) -> dict[str, Any] | None:
    """One run, or None where the law of its tokens is not known."""
    stored = read_run(mark)
    law = find_law(stored.kind, stored.setting, stored.seed)
    if law is None:
        return None
    training = find_kind(stored.kind).make(stored.setting, stored.seed)
    corpus, _ = training.draw(seeded(stored.seed, 5), CORPUS)
    said = said_changes(replay(stored, corpus=corpus).report().to_json(), law)
    clear, unsure = true_changes(stored.looks, *distances(stored, training.model, law))
    return {"run": mark.stem, "kind": stored.kind, **compare(said, clear, unsure)}


def score_functions(folder: Path, *, kinds: Sequence[str] | None = None) -> dict[str, Any]:
    """Scores of all complete runs of a folder whose law is known, by kind."""
    marks = [mark for mark in complete_runs(folder) if not kinds or mark.stem.rsplit("-", 1)[0] in kinds]
    runs = [found for mark in marks if (found := score_run(mark)) is not None]
    names = sorted({run["kind"] for run in runs})
    return {"all": _summary(runs), **{name: _summary([run for run in runs if run["kind"] == name]) for name in names}}


def _summary(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    total = {name: sum(run[name] for run in runs) for name in COUNTS}
    return {
        "runs": len(runs),
        **total,
        "precision": share(total["hits"], total["hits"] + total["false"]),
        "recall": share(total["clear"] - total["missed"], total["clear"]),
        "wrong": [run["run"] for run in runs if run["false"] or run["missed"]],
    }
