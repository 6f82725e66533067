"""From finished runs to verdicts; nothing here trains, draws or writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from headwise.core.errors import ConfigError, CorruptData
from headwise.core.readings import reading_in
from headwise.paper.dated_tests import dated_test, fixed_before
from headwise.paper.entry import Case, Claim
from headwise.paper.judged_run import judged_trajectory
from headwise.paper.plan import Plan
from headwise.paper.runs import load_seed
from headwise.paper.settings import KEY, settings_of
from headwise.paper.verdict import Judgement, Verdict, decide
from headwise.store import RunDirectory
from headwise.study.config import Preset
from headwise.study.run_location import run_location

if TYPE_CHECKING:
    import xarray as xr

GROUPS = 3
FEWEST = 3
"""Evaluations below which nothing can be said about the course of a run."""
CHANGED_SINCE = "the test was last changed after the first of these runs had ended"


def judge_all(plan: Plan, notify: Callable[[str], None] = lambda line: None) -> list[Verdict]:
    """A verdict for every claim of the plan under every reading."""
    verdicts = []
    for entry, preset in plan.pairs():
        if isinstance(entry, Claim):
            notify(f"judging {entry.name} ({preset})")
            judgements = {seed: judge_seed(plan, entry, preset, seed) for seed in plan.seeds_of(entry, preset)}
            paths = [
                run_location(config, plan.out)
                for seed in judgements
                for config in entry.configs(preset, plan.scale, seed).values()
            ]
            verdict = verdict_of(entry, preset, plan.scale, judgements, paths)
            if settings := settings_of(entry, preset, plan.scale):
                verdict = replace(verdict, runs={**verdict.runs, KEY: settings})
            verdicts.append(verdict)
    return verdicts


def verdict_of(
    claim: Claim, preset: Preset, scale: str, judgements: dict[int, Judgement], runs: Sequence[Path] = ()
) -> Verdict:
    """The verdict over all seeds; `runs` are where those judged lie."""
    test, dates = dated_test(claim), dates_of(runs)
    verdict = decide(
        judgements,
        claim=claim.name,
        preset=preset,
        scale=scale,
        quantity=claim.quantity,
        threshold=claim.threshold,
        limit=claim.limit,
        published=claim.published,
        unit=claim.unit,
        test=test,
        runs=dates,
    )
    if fixed_before(test, dates) is False:
        return replace(verdict, notes={**verdict.notes, "test": CHANGED_SINCE})
    return verdict


def judge_seed(plan: Plan, claim: Claim, preset: Preset, seed: int) -> Judgement:
    """One seed; a run that is missing, diverged or damaged makes it unreadable, and the note names the reason."""
    runs = load_seed(claim.configs(preset, plan.scale, seed), plan.out)
    if isinstance(runs, str):
        return Judgement(None, None, runs)
    return _judged(claim, Case(preset, plan.scale, seed, runs, _other_seeds(plan, claim, preset, seed)))


def _judged(claim: Claim, case: Case) -> Judgement:
    """The claim's test, once there is a history to test."""
    short = {name: run.sizes["step"] for name, run in case.runs.items() if run.sizes["step"] < FEWEST}
    if short:
        return Judgement(
            None, None, ", ".join(f"{name} was measured {times} times only" for name, times in short.items())
        )
    return claim.judge(case)


def _other_seeds(plan: Plan, claim: Claim, preset: Preset, seed: int) -> dict[str, tuple[xr.Dataset, ...]]:
    """The claim's runs of the other seeds, as far as they can be read, where it compares with them."""
    if not claim.across_seeds:
        return {}
    found = [
        runs
        for other in plan.seeds_of(claim, preset)
        if other != seed
        if not isinstance(runs := load_seed(claim.configs(preset, plan.scale, other), plan.out), str)
    ]
    return {name: tuple(runs[name] for runs in found) for name in claim.experiments}


def dates_of(paths: Sequence[Path]) -> dict[str, Any]:
    """How many of these runs have ended, when, and with which commits; nothing where none has."""
    manifests = []
    for path in dict.fromkeys(paths):
        with suppress(CorruptData):  # a damaged run is not judged, and its seed says so
            if (manifest := RunDirectory(path).read_manifest()) is not None:
                manifests.append(manifest)
    ended = sorted(str(manifest["ended"]) for manifest in manifests if manifest.get("ended"))
    commits = sorted({str(manifest["commit"]) for manifest in manifests if manifest.get("commit")})
    return {"count": len(ended), "commits": commits, "first_ended": ended[0], "last_ended": ended[-1]} if ended else {}


def judge_run(path: Path, claims: Sequence[Claim]) -> list[Verdict]:
    """Verdicts on one given run, for claims that need no other."""
    trajectory = judged_trajectory(path)
    seed = int(trajectory.attrs.get("seed", 0))
    # A trajectory that is no training run has no reading; it is refused below.
    preset = cast("Preset", reading_in(RunDirectory(path).read_config()) or "redrawn")
    verdicts = []
    for claim in claims:
        if len(claim.experiments) != 1:
            raise ConfigError(f"{claim.name} needs {len(claim.experiments)} experiments; it cannot be judged on --run")
        _require_groups(trajectory, path, claim)
        judged = _judged(claim, Case(preset, "paper", seed, {claim.experiments[0]: trajectory}))
        verdicts.append(verdict_of(claim, preset, "given run", {seed: judged}, [path]))
    return verdicts


def _require_groups(trajectory: xr.Dataset, path: Path, claim: Claim) -> None:
    """Claims are about three groups and the distances to their predictors; other runs are refused."""
    names = {f"prefix_{k + 1}" for k in range(GROUPS)}
    recorded = {str(name) for name in trajectory["predictor"].values} if "kl" in trajectory else set()
    if not names <= recorded or trajectory.sizes.get("group") != GROUPS:
        raise ConfigError(
            f"--run {path}: {claim.name} needs a training run with {GROUPS} groups and distances to their predictors"
        )
