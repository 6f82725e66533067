"""How low a first stage can be: the best predictor that sees only lags 1 and 2, over many drawn tasks.

The published minimal run stays at an excess loss of 0.87 before its second stage. No model that reads lags 1 and 2
alone can be below the Bayes-optimal predictor on them, so its level over random tasks says whether another draw
of the task can explain a difference. Writes one row per dictionary size and task.

    python scripts/first_stage_floor.py --draws 20 -o results/paper/first-stage-floor.csv
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from headwise.core.atomic import replace_file
from headwise.core.csv_text import csv_text
from headwise.study.experiments import experiment
from headwise.task.chain import build_task, entropy, sample
from headwise.task.predictors import predictor

SIZES = (40, 45, 50)
COLUMNS = ("d", "task_seed", "teacher_loss", "uniform_excess", "kl_prefix_1", "kl_prefix_2", "bayes_1_excess")


def levels(d: int, seed: int, sequences: int) -> tuple[float, ...]:
    """Entropy of one drawn task, and how far the uniform, the prefix and the Bayes predictors are from it."""
    config = experiment("minimal").task.changed({"d": d})
    task = build_task(config, seed)
    tokens = sample(task, sequences, np.random.default_rng(seed))
    truth = predictor(task, "prefix_3")(tokens)
    rate = float(entropy(truth).mean())
    distances = [
        float((np.exp(truth) * (truth - predictor(task, name)(tokens))).sum(-1).mean())
        for name in ("prefix_1", "prefix_2", "bayes_1")
    ]
    return rate, math.log(d) - rate, *distances


def main() -> None:
    """Print the mean and the range over tasks, and write every row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20, help="tasks per dictionary size")
    parser.add_argument("--sequences", type=int, default=1500, help="sequences per task")
    parser.add_argument("-o", "--output", type=Path, default=Path("first-stage-floor.csv"))
    given = parser.parse_args()
    table = []
    for d in SIZES:
        rows = [levels(d, seed, given.sequences) for seed in range(given.draws)]
        table += [[d, seed, *(f"{value:.4f}" for value in row)] for seed, row in enumerate(rows)]
        for name, column in zip(COLUMNS[2:], np.array(rows).T, strict=True):
            print(f"d = {d}  {name:15s} {column.mean():.3f} ± {column.std(ddof=1):.3f}  lowest {column.min():.3f}")
    replace_file(given.output, csv_text(COLUMNS, table))


if __name__ == "__main__":
    main()
