"""Candidates for what drew the figures of the full decoder, on their task, beside what was published: where and when
dropout acts, how long the table of positions is, and which task the reversed run has (scripts/reversed_floors.py asks
that without any training).

Each candidate is trained as the figures were, 1000 steps with batch 3000; a row is added as soon as a run is done, and
what is there already is not computed again, among it the runs of scripts/paper-scale. Without dropout on the embeddings
a run takes six minutes of one core, with it in every step eleven.

    python scripts/full_decoder.py --out runs/full-decoder
    python scripts/full_decoder.py --out runs/paper --candidates "four sites at 0.1, first step of a pass" --runs full
"""

from __future__ import annotations

import argparse
import csv
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.core.atomic import replace_file
from headwise.core.csv_text import csv_text
from headwise.model.config import DropoutConfig
from headwise.paper.levels import LEVELS, as_drawn
from headwise.paper.scale import at_scale
from headwise.store import load_trajectory
from headwise.study.experiments import experiment
from headwise.study.runner import execute

if TYPE_CHECKING:
    import xarray as xr

    from headwise.study.config import RunConfig

PUBLISHED = "four sites at 0.1, first step of a pass"
DROPOUT: dict[str, DropoutConfig] = {
    "attention weights at 0.1": DropoutConfig(attention=0.1),
    "attention weights at 0.07": DropoutConfig(attention=0.07),
    "embeddings + both branches at 0.1": DropoutConfig(embedding=0.1, attention_branch=0.1, mlp_branch=0.1),
    "embeddings at 0.1": DropoutConfig(embedding=0.1),
    "attention weights + MLP at 0.1": DropoutConfig(attention=0.1, mlp=0.1),
}
LONGER_TABLE = "as published, position table of 50 rows"
TASKS: dict[str, dict[str, Any]] = {
    "lags 13-14, 9-12, 1-8, m = 1.7": {"task.m": 1.7},
    "lags 9-12, 5-8, 1-4, m = 1.7": {
        "task.m": 1.7,
        "task.w": 12,
        "task.groups": ((9, 10, 11, 12), (5, 6, 7, 8), (1, 2, 3, 4)),
    },
    "lags 7-14, 3-6, 1-2, m = 1.7": {"task.m": 1.7, "task.groups": (tuple(range(7, 15)), (3, 4, 5, 6), (1, 2))},
}
"""Other tasks that the reversed run may have had, the most important group first; the first is the text's."""
CANDIDATES: dict[str, dict[str, Any]] = {
    PUBLISHED: {},
    LONGER_TABLE: {"model.position_rows": 50},
    **{name: {"model.dropout": sites, "train.dropout_steps": "all"} for name, sites in DROPOUT.items()},
    **TASKS,
}
RUNS = ("full", "reverse")
TABLE = Path(__file__).parents[1] / "results" / "paper" / "full-decoder.csv"


def config_of(candidate: str, run: str, seed: int) -> RunConfig:
    """A candidate at the paper's size; the one that is `published` is the very run that `headwise reproduce` judges."""
    config = at_scale(experiment(run), "paper", seed=seed)
    changed = config.changed(CANDIDATES[candidate])
    return config if changed == config else changed.changed({"measure.bayes": ()})


def columns() -> list[str]:
    """Which candidate on which run, then every published number of the full decoder and of the reversed run."""
    return ["candidate", "run", "seed", *dict.fromkeys(one.quantity for name in RUNS for one in LEVELS[name])]


def row(candidate: str, run: str, *, seed: int, trajectory: xr.Dataset) -> dict[str, str]:
    """What a run reached of the published numbers."""
    found = {"candidate": candidate, "run": run, "seed": str(seed)}
    for level in LEVELS[run]:
        value = level.read(as_drawn(level, trajectory))
        found[level.quantity] = "" if value is None else f"{value:.3g}"
    return found


def published(run: str) -> dict[str, str]:
    """The figure's own row."""
    return {"candidate": "figure", "run": run} | {one.quantity: f"{one.published:g}" for one in LEVELS[run]}


def add(new: dict[str, str]) -> None:
    """Put a row into the table; one of the same candidate, run and seed is replaced."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    key = ("candidate", "run", "seed")
    kept = [one for one in rows if any((one.get(name) or "") != new.get(name, "") for name in key)]
    replace_file(TABLE, csv_text(columns(), [[one.get(name) or "" for name in columns()] for one in [*kept, new]]))


def main() -> None:
    """Train what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/full-decoder"), help="folder that holds the runs")
    parser.add_argument("--candidates", nargs="*", default=list(CANDIDATES), help="some of them")
    parser.add_argument("--runs", nargs="*", default=list(RUNS), help="full, reverse")
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1])
    given = parser.parse_args()
    for run in given.runs:
        add(published(run))
    for seed in given.seeds:
        for candidate, run in itertools.product(given.candidates, given.runs):
            if run == "reverse" or candidate not in TASKS:
                done = execute(config_of(candidate, run, seed), given.out)
                new = row(candidate, run, seed=seed, trajectory=load_trajectory(done.path))
                add(new)
                print(new, flush=True)


if __name__ == "__main__":
    main()
