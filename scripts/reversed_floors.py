"""Which task the reversed run can have had: the least loss that each stage allows, beside its figure.

No training decides here. Whoever has learned the first group alone cannot have less than the loss of the best predictor
from its lags, and with two groups likewise; a model on a plateau is a little above it. The figure of the reversed run
shows two plateaus and an end. Each candidate's floors, on the task of the figures:

    python scripts/reversed_floors.py

takes some minutes of one core and writes results/paper/reversed-floors.csv. The minimal model, whose figure is matched,
shows how far above its floors a run is.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from full_decoder import TASKS

from headwise.core.atomic import replace_file
from headwise.core.csv_text import csv_text
from headwise.core.seeds import Stream, generator
from headwise.paper.levels import LEVELS
from headwise.study.config import RunConfig
from headwise.study.experiments import experiment
from headwise.task.chain import build_task, sample
from headwise.task.predictors import predictor

TABLE = Path(__file__).parents[1] / "results" / "paper" / "reversed-floors.csv"
COLUMNS = ("task", "what", "loss in stage 1", "loss in stage 2", "final loss")
SEQUENCES = 2000
BEST = "best predictors, and the law's own loss"


def candidates() -> dict[str, RunConfig]:
    """The minimal model's task first, then the reversed run's as `published` has it, and others."""
    reverse = experiment("reverse")
    return {
        "minimal": experiment("minimal"),
        "reverse": reverse,
        **{f"reverse, {name}": reverse.changed(changes) for name, changes in TASKS.items()},
    }


def floors(config: RunConfig) -> list[float]:
    """The least loss from one group, from two, and of the law itself, in nats."""
    task = build_task(config.task, 0)
    sequences = sample(task, SEQUENCES, generator(0, Stream.TEST))
    targets = sequences[:, task.config.w :]
    found = []
    for name in ("bayes_1", "bayes_2", "prefix_3"):
        log_p = np.asarray(predictor(task, name)(sequences))
        found.append(float(-np.take_along_axis(log_p, targets[..., None], axis=-1).mean()))
    return found


def published(run: str) -> list[float]:
    """The same three numbers of the figure."""
    levels = {one.quantity: one.published for one in LEVELS[run]}
    return [levels[quantity] for quantity in COLUMNS[2:]]


def main() -> None:
    """Write the table, a row at a time."""
    rows: list[list[str]] = []
    for name, config in candidates().items():
        if name in LEVELS:
            rows.append([name, "figure", *(f"{value:g}" for value in published(name))])
        lags = ", ".join(f"{group[0]}-{group[-1]}" for group in build_task(config.task, 0).lags)
        named = f"{config.experiment}, lags {lags}, m = {config.task.m:g}"
        rows.append([named, BEST, *(f"{value:.3f}" for value in floors(config))])
        print(*rows[-1], sep="  ", flush=True)
        replace_file(TABLE, csv_text(list(COLUMNS), rows))


if __name__ == "__main__":
    main()
