"""Predicted and measured stage times over m, noise, h and T (results/stage-times.csv).

The predictions hold one empirical number, `headwise.flow.prediction.THRESHOLD`, which was fixed before any of these
flows was solved and was not adjusted to them. All of them have b0 = 1. Made by

    python -m headwise.theory.stage_times results/stage-times.csv

which solves every flow to past its second stage and says how many predictions are within 8 %.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from headwise.core.atomic import replace_file
from headwise.core.csv_text import csv_text
from headwise.flow.config import FlowConfig
from headwise.flow.ensemble import ensemble
from headwise.flow.prediction import predict
from headwise.flow.start import initial_logits
from headwise.flow.target import build_target

RATIOS = (1.3, 1.5, 1.9, 2.2)
NOISES = (1e-6, 1e-5, 1e-4)
SIZES = ((1, 20), (1, 60), (2, 20), (2, 40), (3, 20), (3, 60), (4, 20), (4, 40))
"""(h, T); h = 1 has a first stage only."""


@dataclass(frozen=True)
class Row:
    """One flow: t_1 in closed form, from the coupled system and measured; t_2 by linear response and measured."""

    m: float
    noise: float
    h: int
    T: int
    seed: int
    t1_closed: float | None
    t1_coupled: float | None
    t1: float | None
    t2_predicted: float | None
    t2: float | None
    t2_error: float | None
    head_predicted: int | None
    head: int | None


def combinations() -> list[FlowConfig]:
    """Every ratio and noise for every size; for h = 1 the ratio means nothing and the strength is m itself."""
    configs = []
    for m, noise, (h, T) in itertools.product(RATIOS, NOISES, SIZES):
        strengths = tuple(m ** (h - k) for k in range(1, h + 1)) if h > 1 else (m,)
        configs.append(FlowConfig(h=h, T=T, strengths=strengths, m=m, noise_scale=noise, atol=1e-13, t_end=4000.0))
    return configs


def compare_stage_times(configs: Sequence[FlowConfig], *, workers: int = 1, first_seed: int = 1000) -> list[Row]:
    """Predict, then solve each flow a third further than its predicted second stage, and note both."""
    rows = []
    jobs, forecasts = [], []
    for seed, config in enumerate(configs, start=first_seed):
        forecast = predict(build_target(config, seed), initial_logits(config, seed), t_end=config.t_end)
        wanted = max(1.4 * (forecast.t2 or 0.0), 3 * (forecast.t1 or 0.0))
        # Ends are rounded up to a few values so that flows of one shape share a batch.
        end = min(config.t_end, float(125 * 2 ** int(np.ceil(np.log2(max(wanted, 125.0) / 125)))))
        jobs.append((config.changed({"t_end": end}), seed))
        forecasts.append(forecast)
    measured = ensemble(jobs, workers=workers)
    for config, (_, seed), forecast, flow in zip(configs, jobs, forecasts, measured, strict=True):
        t2 = flow.stage_times[1] if config.h > 1 else None
        error = None if t2 is None or forecast.t2 is None else forecast.t2 / t2 - 1
        rows.append(
            Row(
                config.m,
                config.noise_scale or 0.0,
                config.h,
                config.T,
                seed,
                forecast.t1_closed,
                forecast.t1,
                flow.stage_times[0],
                forecast.t2,
                t2,
                error,
                forecast.t2_head,
                flow.stage_heads[1] if config.h > 1 else None,
            )
        )
    return rows


def second_stage_rows(rows: Sequence[Row]) -> list[Row]:
    """Rows whose second stage was seen or predicted: those by which the linear response is judged."""
    return [row for row in rows if row.t2 is not None or row.t2_predicted is not None]


def share_within(rows: Sequence[Row], tolerance: float) -> float:
    """Of those, the share predicted within `tolerance`; a stage only predicted or only seen is a miss."""
    judged = second_stage_rows(rows)
    hits = [row.t2_error is not None and abs(row.t2_error) <= tolerance for row in judged]
    return float(np.mean(hits)) if hits else float("nan")


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """The table, numbers to six digits."""
    cells = [
        [f"{v:.6g}" if isinstance(v, float) else "" if v is None else v for v in asdict(row).values()] for row in rows
    ]
    replace_file(path, csv_text([field.name for field in fields(Row)], cells))


def read_csv(path: Path) -> list[Row]:
    """The table as it was written."""
    kinds: dict[str, Callable[[str], Any]] = dict.fromkeys(("h", "T", "seed", "head", "head_predicted"), int)
    rows = []
    with path.open(encoding="utf-8") as file:
        for record in csv.DictReader(file):
            values: dict[str, Any] = {
                key: None if text == "" else kinds.get(key, float)(text) for key, text in record.items()
            }
            rows.append(Row(**values))
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table and print how good the predictions are."""
    arguments = sys.argv[1:] if arguments is None else arguments
    rows = compare_stage_times(combinations(), workers=2)
    path = Path(arguments[0] if arguments else "results/stage-times.csv")
    write_csv(rows, path)
    judged = second_stage_rows(rows)
    named = np.mean([row.head == row.head_predicted for row in judged])
    closed = [row.t1_closed / row.t1 - 1 for row in rows if row.t1_closed and row.t1]
    print(f"{len(rows)} flows, {len(judged)} with a second stage by t = 4000; {path}")
    print(f"t_2 within 8 %: {share_within(rows, 0.08):.1%}, within 5 %: {share_within(rows, 0.05):.1%}")
    print(f"the head that leaves is named in {named:.1%}")
    print(f"t_1 in closed form off by {min(closed):+.1%} to {max(closed):+.1%}")


if __name__ == "__main__":
    main()
