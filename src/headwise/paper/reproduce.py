"""From finished runs to verdicts and figures in a folder; nothing here trains."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from headwise.core.errors import ConfigError, CorruptData, HeadwiseError
from headwise.paper.entry import Case, Claim, Evidence, Figure
from headwise.paper.plan import Plan
from headwise.paper.verdict import Judgement, Verdict, decide
from headwise.store import load_trajectory, run_status
from headwise.study.config import Preset, RunConfig
from headwise.study.place import place

if TYPE_CHECKING:
    import xarray as xr

Said = Callable[[str], None]

GROUPS = 3


def judge_all(plan: Plan, said: Said = lambda line: None) -> list[Verdict]:
    """A verdict for every claim of the plan under every reading."""
    verdicts = []
    for entry, preset in plan.pairs():
        if isinstance(entry, Claim):
            said(f"judging {entry.name} ({preset})")
            judgements = {seed: judge_seed(plan, entry, preset, seed) for seed in plan.seeds_of(entry, preset)}
            verdicts.append(verdict_of(entry, preset, plan.scale, judgements))
    return verdicts


def verdict_of(claim: Claim, preset: Preset, scale: str, judgements: dict[int, Judgement]) -> Verdict:
    """The verdict over all seeds."""
    return decide(
        judgements,
        claim=claim.name,
        preset=preset,
        scale=scale,
        quantity=claim.quantity,
        threshold=claim.threshold,
        published=claim.published,
    )


def judge_seed(plan: Plan, claim: Claim, preset: Preset, seed: int) -> Judgement:
    """One seed; what is missing, diverged or damaged makes it unreadable and is said."""
    runs: dict[str, xr.Dataset] = {}
    for name, config in claim.configs(preset, plan.scale, seed).items():
        problem = unusable(config, plan.out)
        if problem:
            return Judgement(None, None, problem)
        try:
            runs[name] = _trajectory(place(config, plan.out))
        except CorruptData as error:
            return Judgement(None, None, str(error))
    return claim.judge(Case(preset, plan.scale, seed, runs))


def unusable(config: RunConfig, out: Path) -> str:
    """Why a run cannot be judged, or nothing."""
    path = place(config, out)
    if not path.is_dir():
        return f"{config.experiment} has not run"
    status = run_status(path)
    return "" if status == "finished" else f"{config.experiment} is {status}"


@functools.lru_cache(maxsize=64)
def _trajectory(path: Path) -> xr.Dataset:
    return load_trajectory(path)


def judge_run(path: Path, claims: Sequence[Claim]) -> list[Verdict]:
    """Verdicts on one given run, for claims that need no other."""
    trajectory = load_trajectory(path)
    seed = int(trajectory.attrs.get("seed", 0))
    preset: Preset = "text" if trajectory.attrs.get("preset") == "text" else "published"
    verdicts = []
    for claim in claims:
        if len(claim.experiments) != 1:
            raise ConfigError(f"{claim.name} needs {len(claim.experiments)} experiments; it cannot be judged on --run")
        _require_groups(trajectory, path, claim)
        judged = claim.judge(Case(preset, "paper", seed, {claim.experiments[0]: trajectory}))
        verdicts.append(verdict_of(claim, preset, "given run", {seed: judged}))
    return verdicts


def _require_groups(trajectory: xr.Dataset, path: Path, claim: Claim) -> None:
    """Claims are about three groups and the distances to their predictors; other runs are refused."""
    names = {f"prefix_{k + 1}" for k in range(GROUPS)}
    recorded = {str(name) for name in trajectory["predictor"].values} if "kl" in trajectory else set()
    if not names <= recorded or trajectory.sizes.get("group") != GROUPS:
        raise ConfigError(
            f"--run {path}: {claim.name} needs a training run with {GROUPS} groups and distances to their predictors"
        )


def draw_all(plan: Plan, into: Path, said: Said = lambda line: None) -> list[Path]:
    """PNG, PDF and CSV of every figure and table whose runs are there; a figure without runs is said and skipped."""
    from headwise.view.panels import draw_sheet, write_table

    written = []
    for entry, preset in plan.pairs():
        if not isinstance(entry, Figure):
            continue
        evidence = gather(plan, entry, preset)
        if isinstance(evidence, str):
            said(f"{entry.name} ({preset}) is not drawn: {evidence}")
            continue
        sheet = entry.compose(evidence)
        stem = into / f"{entry.name}-{preset}"
        for suffix in (".png", ".pdf"):
            draw_sheet(sheet, stem.with_name(stem.name + suffix))
        write_table(sheet, stem.with_name(stem.name + ".csv"))
        written.append(stem.with_name(stem.name + ".png"))
        said(f"wrote {stem}.png, .pdf, .csv")
    return written


def gather(plan: Plan, entry: Figure, preset: Preset) -> Evidence | str:
    """The trajectories of every seed all of whose runs are finished, or why there is none."""
    seeds, runs = [], {name: [] for name in entry.experiments}  # type: ignore[var-annotated]
    problem = ""
    for seed in plan.seeds_of(entry, preset):
        configs = entry.configs(preset, plan.scale, seed)
        problems = [said for config in configs.values() if (said := unusable(config, plan.out))]
        if problems:
            problem = problems[0]
            continue
        try:
            read = {name: _trajectory(place(config, plan.out)) for name, config in configs.items()}
        except CorruptData as error:
            problem = str(error)
            continue
        seeds.append(seed)
        for name, trajectory in read.items():
            runs[name].append(trajectory)
    if not seeds:
        return problem
    return Evidence(preset, plan.scale, tuple(seeds), runs)


def write_verdicts(verdicts: Sequence[Verdict], into: Path) -> Path:
    """`verdicts.json`, a list; verdicts on other claims that are already there stay."""
    path = into / "verdicts.json"
    try:
        into.mkdir(parents=True, exist_ok=True)
        with FileLock(into / ".verdicts.lock"):
            new = [verdict.to_json() for verdict in verdicts]
            named = {(item["claim"], item["preset"], item["scale"]) for item in new}
            kept = [item for item in read_verdicts(path) if _name(item) not in named]
            partial = path.with_name(f".{path.name}.{os.getpid()}")
            partial.write_text(json.dumps([*kept, *new], indent=2, allow_nan=False, ensure_ascii=False) + "\n")
            partial.replace(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}; choose another --into") from None
    return path


def read_verdicts(path: Path) -> list[dict[str, Any]]:
    """The verdicts of a folder; nothing where there are none."""
    if not path.exists():
        return []
    try:
        found = json.loads(path.read_text())
        return [item for item in found if isinstance(item, dict) and None not in _name(item)]
    except (ValueError, TypeError) as error:
        raise HeadwiseError(f"{path} is not a list of verdicts ({error}); move it away") from None


def _name(item: dict[str, Any]) -> tuple[Any, Any, Any]:
    return item.get("claim"), item.get("preset"), item.get("scale")
