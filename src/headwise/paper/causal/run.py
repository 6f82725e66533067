"""`reproduce --set causal`: the branches of every causal claim, judged and written down with all their numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headwise.core.atomic import replace_file
from headwise.core.errors import ConfigError, RunFailed
from headwise.core.keys import nearest_key
from headwise.paper.causal.claim import CausalClaim
from headwise.paper.causal.claims import CLAIMS
from headwise.paper.causal.flow_beside import BESIDE
from headwise.paper.causal.trial import Trial
from headwise.paper.scale import Scale
from headwise.paper.verdict import Judgement, Verdict, decide

DRAWS: dict[Scale, tuple[int, ...]] = {"quick": (0,), "paper": (0, 1, 2)}
"""Draws of the task: 0 is the published one."""


@dataclass(frozen=True)
class CausalVerdicts:
    """Verdicts over all seeds and draws; `str` of this is what is printed."""

    verdicts: tuple[tuple[CausalClaim, Verdict], ...]
    file: Path
    flow: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What the gradient flow does under the same intervention, by claim and seed; no claim is judged by it."""

    def to_json(self) -> dict[str, Any]:
        """`verdicts`, each with its statement, threshold, numbers by trial and notes."""
        found = []
        for claim, verdict in self.verdicts:
            content = asdict(verdict) | {"limit": None if claim.limit is None else str(claim.limit)}
            kept = ("claim", "scale", "outcome", "passed", "quantity", "measured", "interval", "threshold", "limit")
            about = {key: content[key] for key in kept}
            found.append(
                {**about, "statement": claim.statement, "by_trial": dict(verdict.by_seed), "notes": dict(verdict.notes)}
                | {"flow": dict(self.flow.get(claim.name, {}))}
            )
        return {"verdicts": found}

    def __str__(self) -> str:
        lines = []
        for claim, verdict in self.verdicts:
            lines.append(f"{claim.name}: {verdict.outcome} ({verdict.passed} of {verdict.of})")
            lines.append(f"  {claim.statement}")
            if verdict.measured is not None:
                lines.append(f"  {claim.quantity}: {verdict.numbers}")
            lines += [f"  {trial}: {note}" for trial, note in verdict.notes.items()]
            lines += [f"  flow, seed {seed}: {said}" for seed, said in self.flow.get(claim.name, {}).items()]
        return "\n".join(lines)


def reproduce_causal(
    names: Sequence[str] = (),
    *,
    scale: Scale = "quick",
    seeds: Sequence[int] | None = None,
    out: Path | str = "runs",
    into: Path | str = "reproduction",
    notify: Callable[[str], None] = lambda line: None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> CausalVerdicts:
    """Branches of the minimal model for the named causal claims, or all, over seeds and draws; kept runs are read.

    Trials are numbered by seed, and from the second draw on by 100 times the draw more.
    """
    known = {claim.name: claim for claim in CLAIMS}
    for name in names:
        if name not in known:
            raise ConfigError(
                f"there is no causal claim {name!r}{nearest_key(name, known)}; there are {', '.join(known)}"
            )
    chosen = [known[name] for name in names] or list(CLAIMS)
    numbers = (0, 1, 2) if seeds is None else tuple(seeds)
    trials = {
        100 * draw + seed: Trial(seed, draw, scale, Path(out), notify=lambda line: None, stop_asked=stop_asked)
        for draw in DRAWS[scale]
        for seed in numbers
    }
    found = []
    flow: dict[str, dict[str, str]] = {}
    for claim in chosen:
        judgements: dict[int, Judgement] = {}
        for number, trial in trials.items():
            try:
                judgements[number] = claim.judge(trial)
            except RunFailed as error:
                judgements[number] = Judgement(None, None, str(error))
            notify(f"{claim.name}, trial {number}: {judgements[number].note}")
        verdict = decide(
            judgements,
            claim=claim.name,
            preset="published",
            scale=scale,
            quantity=claim.quantity,
            threshold=claim.threshold,
            limit=claim.limit,
            published=None,
        )
        found.append((claim, verdict))
        if claim.name in BESIDE:
            flow[claim.name] = {str(seed): BESIDE[claim.name](seed) for seed in numbers}
    folder = Path(into)
    folder.mkdir(parents=True, exist_ok=True)
    result = CausalVerdicts(tuple(found), folder / "causal.json", flow)
    replace_file(result.file, json.dumps(result.to_json(), indent=2).encode() + b"\n", option="--into")
    replace_file(folder / "causal.md", _page(result, scale).encode(), option="--into")
    return result


def _page(result: CausalVerdicts, scale: Scale) -> str:
    """The verdicts as a table, with what every trial showed below."""
    named = "" if len(result.verdicts) == len(CLAIMS) else "".join(f"{claim.name} " for claim, _ in result.verdicts)
    lines = [
        f"# Causal claims, {scale} scale",
        "",
        f"Made by `headwise reproduce {named}--set causal --scale {scale}`. Each claim compares branches of the "
        "minimal model with the run itself and with a sham, to which nothing is done but other batches.",
        "",
        "| claim | verdict | measured | threshold |",
        "|---|---|---|---|",
    ]
    for claim, verdict in result.verdicts:
        measured = "" if verdict.measured is None else f"{claim.quantity}: {verdict.numbers}"
        said = f"{verdict.outcome}, {verdict.passed} of {verdict.of}"
        lines.append(f"| `{claim.name}`: {claim.statement} | {said} | {measured} | {claim.threshold} |")
    for claim, verdict in result.verdicts:
        lines += ["", f"## {claim.name}", ""]
        lines += [f"- trial {trial}: {note}" for trial, note in verdict.notes.items()]
        lines += [f"- the flow, seed {seed}: {said}" for seed, said in result.flow.get(claim.name, {}).items()]
    return "\n".join(lines) + "\n"
