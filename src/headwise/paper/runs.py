"""Trajectories of finished runs, for claims and figures; nothing here trains."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from headwise.core.errors import CorruptData
from headwise.paper.entry import Evidence, Figure
from headwise.paper.judged_run import judged_trajectory
from headwise.paper.plan import Plan
from headwise.store import run_status
from headwise.study.config import Preset, RunConfig
from headwise.study.run_location import run_location

if TYPE_CHECKING:
    from collections.abc import Mapping

    import xarray as xr


def load_seed(configs: Mapping[str, RunConfig], out: Path) -> dict[str, xr.Dataset] | str:
    """The runs of one seed by the name of their experiment, or why they cannot be read."""
    problems = [problem for config in configs.values() if (problem := why_unusable(config, out))]
    if problems:
        return problems[0]
    try:
        return {name: _trajectory(run_location(config, out)) for name, config in configs.items()}
    except CorruptData as error:
        return str(error)


def gather(plan: Plan, entry: Figure, preset: Preset) -> Evidence | str:
    """The trajectories of every seed all of whose runs can be read, or why there is none."""
    seeds: list[int] = []
    runs: dict[str, list[xr.Dataset]] = {name: [] for name in entry.experiments}
    problem = ""
    for seed in plan.seeds_of(entry, preset):
        found = load_seed(entry.configs(preset, plan.scale, seed), plan.out)
        if isinstance(found, str):
            problem = found
            continue
        seeds.append(seed)
        for name, trajectory in found.items():
            runs[name].append(trajectory)
    return Evidence(preset, plan.scale, tuple(seeds), runs) if seeds else problem


def why_unusable(config: RunConfig, out: Path) -> str:
    """Why a run cannot be judged; empty where it can."""
    path = run_location(config, out)
    if not path.is_dir():
        return f"{config.experiment} has not run"
    status = run_status(path)
    return "" if status == "finished" else f"{config.experiment} is {status}"


@functools.lru_cache(maxsize=64)
def _trajectory(path: Path) -> xr.Dataset:
    return judged_trajectory(path)
