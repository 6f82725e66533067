"""Precision and recall of the report on a part of the zoo, by kind of event and by kind of training.

Borderline events are neither hits nor misses, and a statement that meets one is neither true nor false; their share is
given, and beside it the scores with a yes or no forced: every borderline event counts as one that happened.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from headwise.core.errors import ConfigError
from headwise.zoo.kinds import find_kind
from headwise.zoo.matching import match
from headwise.zoo.replay import replayed, sources_hash
from headwise.zoo.reported import anything, statements
from headwise.zoo.stored import complete_runs, read_run
from headwise.zoo.truth.event import WHATS
from headwise.zoo.truth.find import find_truth
from headwise.zoo.truth.numbers import truth_hash
from headwise.zoo.wilson import share

COUNTS = ("hits", "unscored", "false", "found", "missed", "borderline", "borderline_found")


@dataclass(frozen=True)
class RunScore:
    """One run: counts for each kind of event, what a run without events must not say, and every mistake."""

    run: str
    kind: str
    counts: dict[str, dict[str, int]]
    said: list[str]
    mistakes: list[dict[str, Any]]


def score_run(mark: Path) -> RunScore:
    """Replay a stored run, take its report, and compare it with the truth."""
    from headwise.phases.detection import detect

    stored = read_run(mark)
    report = detect(replayed(mark), groups="found").to_json()
    said, events = statements(report), find_truth(stored)
    counts: dict[str, dict[str, int]] = {}
    mistakes = []
    for what in WHATS:
        matched = match([s for s in said if s.what == what], [e for e in events if e.what == what])
        counts[what] = {name: len(getattr(matched, name)) for name in COUNTS}
        for sort in ("false", "missed"):
            for item in getattr(matched, sort):
                fields = {k: sorted(v) if isinstance(v, frozenset) else v for k, v in asdict(item).items()}
                mistakes.append({"run": mark.stem, "mistake": sort, **fields})
    return RunScore(mark.stem, stored.kind, counts, anything(report), mistakes)


def score_zoo(folder: Path, *, part: str, kinds: Sequence[str] | None = None, workers: int = 1) -> dict[str, Any]:
    """Scores of all complete runs of a part, as plain values."""
    marks = [mark for mark in complete_runs(folder) if not kinds or mark.stem.rsplit("-", 1)[0] in kinds]
    if not marks:
        raise ConfigError(
            f"{folder} has no complete runs; train them first: python -m headwise.zoo train --part {part}"
        )
    if workers > 1:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            return summary(list(pool.map(score_run, marks)), part=part)
    return summary([score_run(mark) for mark in marks], part=part)


def summary(scores: Sequence[RunScore], *, part: str) -> dict[str, Any]:
    """Sums over runs, with intervals."""
    by_kind: dict[str, list[RunScore]] = defaultdict(list)
    for score in scores:
        by_kind[score.kind].append(score)
    quiet = [score for score in scores if find_kind(score.kind).nothing]
    one_lag = [score for score in scores if score.kind == "one_lag"]
    return {
        "part": part,
        "runs": len(scores),
        "truth": truth_hash(),
        "thresholds": _thresholds_hash(),
        "detector": sources_hash("phases"),
        "probe": sources_hash("probe"),
        "events": {what: _of_event(scores, what) for what in WHATS},
        "kinds": {
            kind: {"runs": len(ones), **{what: _of_event(ones, what) for what in WHATS}}
            for kind, ones in sorted(by_kind.items())
        },
        "nothing": {
            "all": _silent(quiet),
            **{kind: _silent(ones) for kind, ones in sorted(by_kind.items()) if find_kind(kind).nothing},
        },
        "one_lag": _nothing_else(one_lag),
        "mistakes": [mistake for score in scores for mistake in score.mistakes],
    }


def _thresholds_hash() -> str:
    """SHA-256 of the detector's thresholds, by name and value."""
    from headwise.phases.config import DEFAULT

    return hashlib.sha256(DEFAULT.model_dump_json().encode()).hexdigest()


def _of_event(scores: Sequence[RunScore], what: str) -> dict[str, Any]:
    total = {name: sum(score.counts[what][name] for score in scores) for name in COUNTS}
    clear, said = total["found"] + total["missed"], total["hits"] + total["false"]
    either = clear + total["borderline"]
    return {
        "clear": clear,
        "borderline": total["borderline"],
        "borderline_share": total["borderline"] / either if either else None,
        "said": said + total["unscored"],
        "hits": total["hits"],
        "false": total["false"],
        "found": total["found"],
        "precision": share(total["hits"], said),
        "recall": share(total["found"], clear),
        "yes_no_precision": share(total["hits"] + total["unscored"], said + total["unscored"]),
        "yes_no_recall": share(total["found"] + total["borderline_found"], either),
    }


def _silent(scores: Sequence[RunScore]) -> dict[str, Any]:
    """Share of reports that say none of what must not be said, and how many say each of it."""
    said = Counter(name for score in scores for name in score.said)
    return {"runs": len(scores), "silent": share(sum(not s.said for s in scores), len(scores)), "said": dict(said)}


def _nothing_else(scores: Sequence[RunScore]) -> dict[str, Any]:
    """One-lag runs: the true role and the true drop found, nothing false, nobody said to leave or to add."""
    right = [
        all(score.counts[what]["missed"] == 0 for what in ("lag", "boundary"))
        and not any(counts["false"] for counts in score.counts.values())
        and not {"offshoots", "adds"} & set(score.said)
        for score in scores
    ]
    return {"runs": len(scores), "right": share(sum(right), len(right))}
