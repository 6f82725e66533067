"""`reproduce --set causal`: the branches of every causal claim, judged, and each claim written down once it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwise.core.errors import ConfigError, Interrupted, RunFailed
from headwise.core.keys import nearest_key
from headwise.paper.causal.claim import CausalClaim
from headwise.paper.causal.claims import CLAIMS
from headwise.paper.causal.flow_beside import BESIDE
from headwise.paper.causal.stored import verdict_document, write_verdicts
from headwise.paper.causal.trial import Trial
from headwise.paper.dated_tests import begun_dates, dated_test
from headwise.paper.plan import FIRST
from headwise.paper.scale import Scale
from headwise.paper.verdict import Judgement, Verdict, decide
from headwise.study.executors import InProcess, Pool, open_pool
from headwise.study.local_workers import stop_asked as worker_stop_asked

DRAWS: dict[Scale, tuple[int, ...]] = {"quick": (0,), "paper": (0, 1, 2)}
"""Draws of the task: 0 is the published one."""

SEEDS = 3
"""How many seeds of each draw where none are asked for."""

LOOK_SECONDS = 0.5
"""How often it is looked whether to stop."""


@dataclass(frozen=True)
class CausalVerdicts:
    """Verdicts over all seeds and draws; `str` of this is what is printed."""

    verdicts: tuple[tuple[CausalClaim, Verdict], ...]
    file: Path
    flow: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What the gradient flow does under the same intervention, by claim and seed; no claim is judged by it."""

    def to_json(self) -> dict[str, Any]:
        """`verdicts`, each with its statement, threshold, numbers by trial, notes and the dates of test and runs."""
        found = [verdict_document(claim, verdict, self.flow.get(claim.name, {})) for claim, verdict in self.verdicts]
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
    workers: int = 2,
    out: Path | str = "runs",
    into: Path | str = "reproduction",
    notify: Callable[[str], None] = lambda line: None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> CausalVerdicts:
    """Branches of the minimal model for the named causal claims, or all, over seeds and draws; kept runs are read.

    Trials are numbered by seed, and from the second draw on by 100 times the draw more; `workers` of them are computed
    at a time, and with several a script must stand under `if __name__ == "__main__":`. Each claim is written as soon as
    it is judged, beside those of the same scale that `into` has already.
    """
    known = {claim.name: claim for claim in CLAIMS}
    for name in names:
        if name not in known:
            raise ConfigError(
                f"there is no causal claim {name!r}{nearest_key(name, known)}; there are {', '.join(known)}"
            )
    if workers < 1:
        raise ConfigError(f"--workers {workers} must be at least 1")
    chosen = [known[name] for name in names] or list(CLAIMS)
    numbers = tuple(range(FIRST[scale], FIRST[scale] + SEEDS)) if seeds is None else tuple(seeds)
    trials = [(seed, draw) for draw in DRAWS[scale] for seed in numbers]
    folder = Path(into)
    result = CausalVerdicts((), folder / "causal.json")
    with open_pool("local", workers=min(workers, len(trials))) as pool:
        for claim in chosen:
            verdict = _judge_claim(pool, claim, trials, scale=scale, out=Path(out), notify=notify, stop=stop_asked)
            beside = {str(seed): BESIDE[claim.name](seed) for seed in numbers}
            result = CausalVerdicts(
                (*result.verdicts, (claim, verdict)), result.file, {**result.flow, claim.name: beside}
            )
            write_verdicts(result.to_json()["verdicts"], folder, scale=scale)
    return result


def judge_trial(
    name: str, seed: int, draw: int, scale: Scale, out: Path, stop: Callable[[], bool] = worker_stop_asked
) -> tuple[Judgement, list[Path]]:
    """One claim in one trial, and the runs that it used; `Interrupted` is raised once `stop` says so."""
    trial = Trial(seed, draw, scale, out, stop_asked=stop)
    claim = next(claim for claim in CLAIMS if claim.name == name)
    try:
        return claim.judge(trial), trial.used
    except RunFailed as error:
        return Judgement(None, None, str(error)), trial.used


def _judge_claim(
    pool: Pool,
    claim: CausalClaim,
    trials: Sequence[tuple[int, int]],
    *,
    scale: Scale,
    out: Path,
    notify: Callable[[str], None],
    stop: Callable[[], bool],
) -> Verdict:
    """The verdict on one claim over all trials, computed by the workers of a pool."""
    # A process of its own is asked to stop by a signal; a trial in this one has to be told.
    here = {"stop": stop} if isinstance(pool.executor, InProcess) else {}
    waiting: dict[Future[tuple[Judgement, list[Path]]], int] = {}
    judgements: dict[int, Judgement] = {}
    used: list[Path] = []

    def end(future: Future[tuple[Judgement, list[Path]]], number: int) -> None:
        judgements[number], runs = future.result()
        used.extend(runs)
        notify(f"{claim.name}, trial {number}: {judgements[number].note}")

    for seed, draw in trials:
        future = pool.executor.submit(judge_trial, claim.name, seed, draw, scale, out, **here)
        # In this process a trial is over when it has been submitted, and is told before the next one begins.
        if future.done():
            end(future, 100 * draw + seed)
        else:
            waiting[future] = 100 * draw + seed
    left = set(waiting)
    while left:
        done, left = wait(left, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=lambda one: waiting[one]):
            end(future, waiting[future])
        if left and stop():
            raise Interrupted(f"stopped while {claim.name} was tried; the same command resumes it")
    return decide(
        dict(sorted(judgements.items())),
        claim=claim.name,
        preset="published",
        scale=scale,
        quantity=claim.quantity,
        threshold=claim.threshold,
        limit=claim.limit,
        published=None,
        test=dated_test(claim),
        runs=begun_dates(used),
    )
