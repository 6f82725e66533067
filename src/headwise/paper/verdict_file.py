"""`verdicts.json`: verdicts as plain values, for other programs and for later commands.

A file is `{"schema": 1, "verdicts": [...]}`. Files without a version are lists of the same items without
`outcome`, `passed`, `of` and `limit`; they are read too, and written back in the present form. An item without `draws`
is from before the task of the figures was known: what it calls published had a task for each seed, which is `redrawn`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from headwise.core.errors import HeadwiseError
from headwise.core.foreign_text import parse_json, read_foreign
from headwise.core.readings import reading_of
from headwise.paper.folder import locked, write_json
from headwise.paper.limit import COMPARE, Limit
from headwise.paper.verdict import Outcome, Verdict

SCHEMA = 1
NAME = "verdicts.json"
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


def to_document(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """What the file holds and `headwise reproduce --json` prints."""
    return {"schema": SCHEMA, "verdicts": [to_item(verdict) for verdict in verdicts]}


def to_item(verdict: Verdict) -> dict[str, Any]:
    """One verdict as plain values, in the order a person reads them."""
    limit = verdict.limit
    return {
        "claim": verdict.claim,
        "preset": verdict.preset,
        "verdict": verdict.text,
        "outcome": verdict.outcome,
        "passed": verdict.passed,
        "of": verdict.of,
        "quantity": verdict.quantity,
        "unit": verdict.unit,
        "measured": verdict.measured,
        "interval": list(verdict.interval) if verdict.interval else None,
        "by_seed": dict(verdict.by_seed),
        "threshold": verdict.threshold,
        "limit": {"relation": limit.relation, "value": limit.value} if limit else None,
        "published": verdict.published,
        "distance": verdict.distance,
        "seeds": list(verdict.seeds),
        "draws": verdict.draws,
        "scale": verdict.scale,
        "notes": dict(verdict.notes),
        "test": dict(verdict.test),
        "runs": dict(verdict.runs),
    }


def read_verdicts(path: Path) -> list[Verdict]:
    """The verdicts of a file; nothing where there is none."""
    if not path.exists():
        return []
    try:
        document = parse_json(read_foreign(path))
        if isinstance(document, list):
            return [_from_item(item | _from_text(item)) for item in document]
        if document["schema"] != SCHEMA:
            raise ValueError(f"schema {document['schema']} where {SCHEMA} is known")
        return [_from_item(item) for item in document["verdicts"]]
    except (ValueError, TypeError, KeyError) as error:
        why = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
        raise HeadwiseError(f"{path} is not a file of verdicts ({why}); move it away") from None


def add_verdicts(new: Sequence[Verdict], into: Path) -> list[Verdict]:
    """Write verdicts into a folder's file and return all that it then holds: earlier ones on other claims stay."""
    path = into / NAME
    replaced = {_key(verdict) for verdict in new}
    with locked(into):
        verdicts = [verdict for verdict in read_verdicts(path) if _key(verdict) not in replaced] + list(new)
        write_json(path, to_document(verdicts))
    return verdicts


def _key(verdict: Verdict) -> tuple[str, str, str]:
    return verdict.claim, verdict.preset, verdict.scale


def _from_item(item: Mapping[str, Any]) -> Verdict:
    limit, interval = item["limit"], item["interval"]
    if item["outcome"] not in OUTCOMES:
        raise ValueError(f"outcome {item['outcome']!r} is none of {', '.join(OUTCOMES)}")
    if limit and limit["relation"] not in COMPARE:
        raise ValueError(f"relation {limit['relation']!r} is none of {', '.join(COMPARE)}")
    return Verdict(
        claim=str(item["claim"]),
        preset=str(item["preset"]) if "draws" in item else reading_of(str(item["preset"]), None),
        scale=str(item["scale"]),
        outcome=item["outcome"],
        passed=int(item["passed"]),
        quantity=str(item["quantity"]),
        measured=item["measured"],
        interval=(interval[0], interval[1]) if interval else None,
        threshold=str(item["threshold"]),
        limit=Limit(limit["relation"], limit["value"]) if limit else None,
        published=item["published"],
        distance=item["distance"],
        seeds=tuple(item["seeds"]),
        notes=dict(item["notes"]),
        unit=str(item.get("unit", "")),
        test=dict(item.get("test", {})),
        runs=dict(item.get("runs", {})),
        by_seed={str(seed): float(value) for seed, value in item.get("by_seed", {}).items()},
    )


def _from_text(item: Mapping[str, Any]) -> dict[str, Any]:
    """What an item without a version says in words only: its outcome and the number of seeds that passed."""
    text, of = item["verdict"], len(item["seeds"])
    if partly := re.fullmatch(r"reproduced in (\d+) of (\d+) seeds", text):
        return {"outcome": "partly reproduced", "passed": int(partly[1]), "limit": None}
    return {"outcome": text, "passed": of if text == "reproduced" else 0, "limit": None}
