"""When the first head leaves, in training and in the flow, over m and u; and the flow's prediction over h and T too.

    python scripts/stage_times.py RUNS.parquet results/phase-diagram/stage-times.png [results/stage-times.csv]

Reads a table that `headwise collect` wrote of a sweep over task.m and model.init_scale, solves a flow for every m, u
and seed in it (h = 3, T = 20, deviation of the first logits = u) and predicts its second stage by linear response.
Draws the end of the competitive phase of the trained runs, t_2 of the flows with the predictions as lines, and
prediction against flow over h and T, from the table of `python -m headwise.theory.stage_times`. Writes beside the
figure its numbers as CSV, and in a second CSV, for each m, how much later a decade of u makes it.

A step of AdamW is no unit of the flow's time and cross-entropy is not its loss, so what can be compared is the shape:
later for smaller u, about so much per decade, and more per decade for larger m.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyarrow.parquet as pq

from headwise.core.atomic import replace_file
from headwise.core.csv_text import csv_text
from headwise.core.palette import group_colour
from headwise.flow.config import FlowConfig
from headwise.theory.stage_times import Row, compare_stage_times, read_csv, second_stage_rows
from headwise.view.panels import Curve, Mark, Plot, Sheet
from headwise.view.write import write_sheet

FITTED = (1e-7, 1e-1)
"""Scales over which slopes are fitted; below them the trained runs bend, above them the flow's noise is not small."""

MARKS = "osD^v"
Points = dict[tuple[float, float], list[float]]
"""Times of all seeds by (m, u)."""


def main(arguments: Sequence[str]) -> int:
    """Solve, fit, draw and write."""
    if len(arguments) not in (2, 3):
        print(__doc__)
        return 2
    table, figure = Path(arguments[0]), Path(arguments[1])
    sizes = read_csv(Path(arguments[2] if len(arguments) == 3 else "results/stage-times.csv"))
    trained, seeds = trained_times(table)
    flows = solve(sorted({key for key in trained if key[0] > 1}), seeds)
    solved, predicted = flow_times(flows)
    rows = slopes({"trained": trained, "flow": solved, "predicted": predicted})
    fitted = csv_text(list(rows[0]), ([f"{value:.4g}" for value in row.values()] for row in rows))
    replace_file(figure.with_name(f"{figure.stem}-slopes.csv"), fitted)
    for row in rows:
        print("  ".join(f"{name} {value:.3g}" for name, value in row.items()))
    write_sheet(sheet(trained, solved, predicted, sizes), figure)
    return 0


def trained_times(table: Path) -> tuple[Points, int]:
    """End of the competitive phase by (m, u), an empty list where it is in no run; and the number of seeds."""
    columns = pq.read_table(table).to_pydict()
    times: Points = {}
    for m, u, end in zip(
        columns["config.task.m"], columns["config.model.init_scale"], columns["competitive.end"], strict=True
    ):
        times.setdefault((m, u), []).extend([] if end is None else [end])
    return times, len(set(columns["seed"]))


def solve(places: Sequence[tuple[float, float]], seeds: int) -> list[Row]:
    """Flows and predictions with noise of their own for every place and seed."""
    configs = [
        FlowConfig(
            h=3, T=20, m=m, strengths=(m**2, m, 1.0), noise_scale=u, atol=1e-13, t_end=8000.0
        )
        for m, u in places
        for _ in range(seeds)
    ]  # fmt: skip
    return compare_stage_times(configs, first_seed=0)


def flow_times(rows: Sequence[Row]) -> tuple[Points, Points]:
    """t_2 by (m, u), solved and predicted."""
    solved: Points = {}
    predicted: Points = {}
    for row in rows:
        solved.setdefault((row.m, row.noise), []).extend([] if row.t2 is None else [row.t2])
        predicted.setdefault((row.m, row.noise), []).extend([] if row.t2_predicted is None else [row.t2_predicted])
    return solved, predicted


def slopes(sources: dict[str, Points]) -> list[dict[str, float]]:
    """For each m the least-squares slope per decade of 1/u over `FITTED`, and the share of variance it explains."""
    found = []
    for m in sorted({m for times in sources.values() for m, _ in times}):
        row = {"m": m}
        for name, times in sources.items():
            pairs = [(-np.log10(u), t) for (k, u), ts in times.items() if k == m for t in ts if within(u)]
            row |= {f"{name}_per_decade": np.nan, f"{name}_r2": np.nan}
            if len({x for x, _ in pairs}) >= 3:
                x, y = np.array(pairs).T
                row[f"{name}_per_decade"] = float(np.polyfit(x, y, 1)[0])
                row[f"{name}_r2"] = float(np.corrcoef(x, y)[0, 1] ** 2)
        found.append(row)
    return found


def within(u: float) -> bool:
    """Whether a scale takes part in the fits."""
    return FITTED[0] * 0.999 <= u <= FITTED[1] * 1.001


def sheet(trained: Points, solved: Points, predicted: Points, sizes: Sequence[Row]) -> Sheet:
    """Three panels: trained runs, flows with predictions, prediction against flow for all h and T."""
    ratios = sorted({m for m, u in trained if trained[m, u]} | {m for m, _ in solved})
    left: list[Curve] = []
    middle: list[Curve] = []
    for index, m in enumerate(ratios):
        left += [points(trained, m, index), medians(trained, m, index, "median")]
        middle += [points(solved, m, index), medians(predicted, m, index, "predicted")]
    judged = [row for row in second_stage_rows(sizes) if row.t2 and row.t2_predicted]
    right = [errors([row for row in judged if row.h == h], h, index) for index, h in enumerate(unique_h(judged))]
    span = "–".join(str(f({row.T for row in judged})) for f in (min, max))
    return Sheet(
        (
            (
                scales("minimal model, AdamW", "end of competitive phase (step)", left, legend="inside"),
                scales("flow (points), prediction (lines)", "second stage $t_2$", middle, legend="none"),
                Plot(
                    f"prediction against flow, $T$ = {span}",
                    "second stage $t_2$",
                    "error of predicted $t_2$ (%)",
                    tuple(right),
                    xscale="log",
                    marks=(Mark("no error", 0.0, axis="y", style="-", width=0.8),),
                    legend="inside",
                    height=2.9,
                ),
            ),
        ),
        width=8.4,
    )


def unique_h(rows: Sequence[Row]) -> list[int]:
    """The numbers of groups that occur."""
    return sorted({row.h for row in rows})


def scales(title: str, ylabel: str, curves: Sequence[Curve], *, legend: Literal["inside", "none"]) -> Plot:
    """Times over the initial scale, the smallest on the right."""
    return Plot(
        title,
        "initial scale $u$",
        ylabel,
        tuple(curves),
        (0, None),
        xscale="log",
        x_direction="falling",
        legend=legend,
        height=2.9,
    )


def points(times: Points, m: float, index: int) -> Curve:
    """Every seed as a point."""
    u, t = np.array(sorted((u, t) for (k, u), ts in times.items() if k == m for t in ts)).reshape(-1, 2).T
    return Curve(f"$m$ = {m:g}", u, t, colour=group_colour(index), style="none", marker=MARKS[index % len(MARKS)])


def medians(times: Points, m: float, index: int, kind: str) -> Curve:
    """Medians over seeds, joined."""
    pairs = sorted((u, float(np.median(ts))) for (k, u), ts in times.items() if k == m and ts)
    u, t = np.array(pairs).reshape(-1, 2).T
    return Curve("", u, t, colour=group_colour(index), width=1.1, name=f"m = {m:g}, {kind}")


def errors(rows: Sequence[Row], h: int, index: int) -> Curve:
    """Error of the predicted time in percent over the time of the flow."""
    x = np.array([float(row.t2 or 0.0) for row in rows])
    y = np.array([100 * (row.t2_error or 0.0) for row in rows])
    return Curve(f"$h$ = {h}", x, y, colour=group_colour(index), style="none", marker=MARKS[index])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
