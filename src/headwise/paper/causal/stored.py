"""Causal verdicts on disk: `causal.json` with all their numbers, and `causal.md`, the same as a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headwise.core.atomic import replace_file
from headwise.core.rounding import with_interval
from headwise.paper.causal.claim import CausalClaim
from headwise.paper.causal.claims import CLAIMS
from headwise.paper.dated_tests import fixed_before
from headwise.paper.scale import Scale
from headwise.paper.verdict import Verdict

KEPT = ("claim", "scale", "outcome", "passed", "quantity", "measured", "interval", "threshold", "test", "runs")


def verdict_document(claim: CausalClaim, verdict: Verdict, flow: Mapping[str, str]) -> dict[str, Any]:
    """A verdict with its statement, its limit, the numbers of every trial and what the flow does."""
    content = asdict(verdict)
    return {
        **{key: content[key] for key in KEPT},
        "limit": None if claim.limit is None else str(claim.limit),
        "trials": list(verdict.seeds),
        "statement": claim.statement,
        "by_trial": dict(verdict.by_seed),
        "notes": dict(verdict.notes),
        "flow": dict(flow),
    }


def write_verdicts(found: Sequence[Mapping[str, Any]], folder: Path, *, scale: Scale) -> None:
    """Write verdicts beside those of other claims at this scale that the folder has; of one claim the newer stays."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "causal.json"
    before = json.loads(file.read_text("utf-8"))["verdicts"] if file.is_file() else []
    whole = {verdict["claim"]: verdict for verdict in before if verdict["scale"] == scale}
    whole |= {verdict["claim"]: verdict for verdict in found}
    ordered = [whole[claim.name] for claim in CLAIMS if claim.name in whole]
    replace_file(file, json.dumps({"verdicts": ordered}, indent=2).encode() + b"\n", option="--into")
    replace_file(folder / "causal.md", verdicts_page(ordered, scale).encode(), option="--into")


def verdicts_page(verdicts: Sequence[Mapping[str, Any]], scale: Scale) -> str:
    """The verdicts as a table, with what every trial showed below."""
    named = "" if len(verdicts) == len(CLAIMS) else "".join(f"{verdict['claim']} " for verdict in verdicts)
    lines = [
        f"# Causal claims, {scale} scale",
        "",
        f"Made by `headwise reproduce {named}--set causal --scale {scale}`. Each claim compares branches of the "
        "minimal model with the run itself and with a sham, to which nothing is done but other batches. Trials are "
        "numbered by seed, and 100 times the draw of the task more; draw 0 is the published task.",
        "",
        "| claim | verdict | measured | threshold |",
        "|---|---|---|---|",
    ]
    for verdict in verdicts:
        said = f"{verdict['outcome']}, {verdict['passed']} of {_count(verdict)}"
        lines.append(
            f"| `{verdict['claim']}`: {verdict['statement']} | {said} | {_measured(verdict)} | {verdict['threshold']} |"
        )
    for verdict in verdicts:
        lines += ["", f"## {verdict['claim']}", "", *_dates(verdict)]
        lines += [f"- trial {trial}: {note}" for trial, note in verdict["notes"].items()]
        lines += [f"- the flow, seed {seed}: {said}" for seed, said in verdict["flow"].items()]
    return "\n".join(lines) + "\n"


def _count(verdict: Mapping[str, Any]) -> int:
    return len(verdict.get("trials") or verdict["notes"])


def _measured(verdict: Mapping[str, Any]) -> str:
    if verdict["measured"] is None:
        return ""
    between = verdict["interval"]
    numbers = with_interval(verdict["measured"], None if between is None else (between[0], between[1]))
    return f"{verdict['quantity']}: {numbers}"


def _dates(verdict: Mapping[str, Any]) -> list[str]:
    """Since when the test is as it is, and when the first of its runs was begun."""
    test, runs = verdict.get("test") or {}, verdict.get("runs") or {}
    if not runs:
        return []
    since = f"in commit {test['commit'][:12]} of {test['date']}" if test.get("commit") else "at no known time"
    order = "before" if fixed_before(test, runs) else "NOT before"
    return [f"Its test was last changed {since}, {order} the first of its runs began ({runs['first_begun']}).", ""]
