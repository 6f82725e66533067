"""Numbers read off the published figures, beside the same numbers of our runs.

Published values were read by eye, to about `READABLE` nats and 10 steps. A level counts as matched within `NATS` or the
share `SHARE_OF_LEVEL` of it, whichever is more, and a boundary within the share `SHARE` of the published step. On
redrawn tasks the teacher is another draw: a loss then differs by what its entropy differs.

The figures go to step `DRAWN_TO`, so the end of a longer run is read there. Their first point comes after one step: at
step 0 every loss is ln 50 (3.91), which no figure shows, and at step 1 it is what they show. The lines that part their
stages stand where the distance to a stage's predictor begins to rise, so that is where ours are read too; the
detector's own boundaries, half-way between two predictors, come later.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from headwise.core.predictors import predictor_label
from headwise.paper.entry import Evidence, Figure
from headwise.paper.flows import flow_config, solved
from headwise.paper.quantities import best_index, first_below, passage, prefixes
from headwise.view.panels import Sheet, Table

if TYPE_CHECKING:
    import xarray as xr

    from headwise.flow.simulate import SolvedFlow

READABLE = 0.03
NATS = 0.05
SHARE_OF_LEVEL = 0.04
SHARE = 0.12
DRAWN_TO = 1000
LONGER = ("sgd", "online")
"""Experiments whose figure goes to the end of the run."""

DONE = 0.15
"""Excess loss below which the ablation over m counts as done."""

LEFT = 0.81
"""Excess loss below which a run has left the published first plateau of 0.87: by twice what can be read by eye."""

Measurement = Callable[["xr.Dataset"], float | None]
"""How a number is measured in a run; `None` where the run does not have it."""


@dataclass(frozen=True)
class Level:
    """One published number and how the same number is measured in a run."""

    experiment: str
    quantity: str
    published: float
    unit: Literal["nats", "steps", "loss", "time"]
    read: Measurement
    sense: Literal["about", "at most"] = "about"

    def within(self, measured: float) -> bool:
        """Whether a measured value matches; a step by which something is done may also come earlier."""
        if self.sense == "at most" and measured <= self.published:
            return True
        if self.unit in ("nats", "loss"):
            return abs(measured - self.published) <= max(NATS, SHARE_OF_LEVEL * abs(self.published))
        return abs(measured - self.published) <= SHARE * self.published


def begins_to_rise(index: int) -> Measurement:
    """The end of stage `index` (from 1): from here on the distance to its predictor is visibly above its smallest."""

    def read(run: xr.Dataset) -> float | None:
        seen = passage(run, prefixes(run))
        if seen is None:
            return None
        above = run["kl"].sel(predictor=seen.names[index - 1]).values - seen.lowest[index - 1] - READABLE
        last = int(np.flatnonzero(above <= 0)[-1])
        if last == len(above) - 1:
            return None
        step = run["step"].values
        share = -above[last] / (above[last + 1] - above[last])
        return float(step[last] + share * (step[last + 1] - step[last]))

    return read


def nearest(index: int, which: Literal["lowest", "final"]) -> Measurement:
    """The smallest or last distance to the predictor of the first `index` groups."""

    def read(run: xr.Dataset) -> float | None:
        seen = passage(run, prefixes(run))
        return None if seen is None else getattr(seen, which)[index - 1]

    return read


def excess_when_nearest(index: int) -> Measurement:
    """The excess loss when the run is nearest to the predictor of the first `index` groups: the level of a stage."""

    def read(run: xr.Dataset) -> float | None:
        seen = passage(run, prefixes(run))
        return None if seen is None else float(run["excess_loss"].sel(step=seen.nearest[index - 1]))

    return read


def first_excess(run: xr.Dataset) -> float | None:
    """The excess loss after one step."""
    return float(run["excess_loss"].sel(step=1)) if 1 in run["step"].values else None


def final_excess(run: xr.Dataset) -> float:
    """The excess loss of the last evaluation."""
    return float(run["excess_loss"].values[-1])


def whole_loss(read: Measurement) -> Measurement:
    """A measurement of the excess loss with the teacher's own loss added again."""

    def whole(run: xr.Dataset) -> float | None:
        excess = read(run)
        return None if excess is None else excess + float(run.attrs["teacher_loss"])

    return whole


def leaves_plateau(run: xr.Dataset) -> float | None:
    """When the excess loss falls below `LEFT`."""
    return first_below(run, LEFT)


def best_loss(run: xr.Dataset) -> float:
    """The lowest excess loss."""
    return float(run["excess_loss"].values[best_index(run)])


def best_step(run: xr.Dataset) -> float:
    """The step of the lowest excess loss."""
    return float(run["step"].values[best_index(run)])


def _stages(experiment: str, first: float, second: float) -> tuple[Level, Level]:
    return (
        Level(experiment, "end of stage 1", first, "steps", begins_to_rise(1)),
        Level(experiment, "end of stage 2", second, "steps", begins_to_rise(2)),
    )


def _distances(experiment: str, values: Sequence[tuple[str, float]]) -> tuple[Level, ...]:
    levels = []
    for name, published in values:
        which, index = name.split()
        word = "smallest" if which == "lowest" else "final"
        levels.append(
            Level(
                experiment,
                f"{word} KL to {predictor_label(f'prefix_{index}')}",
                published,
                "nats",
                nearest(int(index), "lowest" if which == "lowest" else "final"),
            )
        )
    return tuple(levels)


LEVELS: dict[str, tuple[Level, ...]] = {
    "minimal": (
        *_stages("minimal", 330, 575),
        Level("minimal", "excess loss at the start", 3.2, "nats", first_excess),
        Level("minimal", "excess loss in stage 1", 0.87, "nats", excess_when_nearest(1)),
        Level("minimal", "excess loss in stage 2", 0.35, "nats", excess_when_nearest(2)),
        Level("minimal", "final excess loss", 0.09, "nats", final_excess),
        Level("minimal", "loss at the start", 3.70, "nats", whole_loss(first_excess)),
        Level("minimal", "loss in stage 1", 1.38, "nats", whole_loss(excess_when_nearest(1))),
        Level("minimal", "loss in stage 2", 0.85, "nats", whole_loss(excess_when_nearest(2))),
        Level("minimal", "final loss", 0.595, "nats", whole_loss(final_excess)),
        *_distances(
            "minimal",
            (("lowest 1", 1.08), ("final 1", 2.78), ("lowest 2", 0.315), ("final 2", 0.70), ("final 3", 0.085)),
        ),
    ),
    "init": (
        Level("init-xavier", "leaves the first plateau", 110, "steps", leaves_plateau),
        Level("init-1e-3", "leaves the first plateau", 200, "steps", leaves_plateau),
        Level("init-1e-6", "leaves the first plateau", 310, "steps", leaves_plateau),
        Level("minimal", "leaves the first plateau", 320, "steps", leaves_plateau),
        Level("init-0", "final excess loss", 0.86, "nats", final_excess),
    ),
    "ratio": (
        Level("ratio-1", "excess loss at the start", 2.47, "nats", first_excess),
        Level("ratio-1.3", "excess loss at the start", 2.85, "nats", first_excess),
        Level("ratio-1.5", "excess loss at the start", 3.05, "nats", first_excess),
        Level("ratio-1", "done by", 200, "steps", lambda run: first_below(run, DONE), "at most"),
        Level("ratio-1.3", "done by", 300, "steps", lambda run: first_below(run, DONE), "at most"),
        Level("ratio-1.5", "done by", 400, "steps", lambda run: first_below(run, DONE), "at most"),
        Level("ratio-1", "final excess loss", 0.085, "nats", final_excess),
        Level("ratio-1.3", "final excess loss", 0.085, "nats", final_excess),
        Level("ratio-1.5", "final excess loss", 0.085, "nats", final_excess),
    ),
    "data": (
        Level("samples-600", "best step", 70, "steps", best_step),
        Level("samples-600", "best excess loss", 1.33, "nats", best_loss),
        Level("samples-2000", "best step", 258, "steps", best_step),
        Level("samples-2000", "best excess loss", 0.81, "nats", best_loss),
        Level("samples-9000", "best step", 760, "steps", best_step),
        Level("samples-9000", "best excess loss", 0.09, "nats", best_loss),
    ),
    "online": (
        *_stages("online", 330, 580),
        Level("online", "best excess loss", 0.02, "nats", best_loss),
        Level("online", "final loss", 0.525, "nats", whole_loss(final_excess)),
        *_distances("online", (("final 1", 2.62), ("final 2", 0.61), ("final 3", 0.016))),
    ),
    "full": (
        *_stages("full", 65, 450),
        *_distances(
            "full", (("lowest 1", 1.46), ("final 1", 3.07), ("lowest 2", 0.42), ("final 2", 0.79), ("final 3", 0.19))
        ),
    ),
    "reverse": (
        *_stages("reverse", 90, 410),
        Level("reverse", "loss at the start", 3.98, "nats", whole_loss(first_excess)),
        Level("reverse", "loss in stage 1", 1.85, "nats", whole_loss(excess_when_nearest(1))),
        Level("reverse", "loss in stage 2", 0.92, "nats", whole_loss(excess_when_nearest(2))),
        Level("reverse", "final loss", 0.475, "nats", whole_loss(final_excess)),
    ),
    "sgd": _stages("sgd", 600, 4000),
}
"""Published numbers by the table they are shown in."""


def as_drawn(level: Level, run: xr.Dataset) -> xr.Dataset:
    """The part of a run that its figure shows."""
    return run if level.experiment in LONGER else run.sel(step=slice(None, DRAWN_TO))


def compose(name: str) -> Callable[[Evidence], Sheet]:
    """The table of one group of runs."""

    def sheet(evidence: Evidence) -> Sheet:
        rows = []
        for level in LEVELS[name]:
            runs = [as_drawn(level, run) for run in evidence.runs[level.experiment]]
            found = [value for run in runs if (value := level.read(run)) is not None]
            rows.append(level_row(level, found, len(evidence.seeds)))
        return Sheet(((Table(COLUMNS, tuple(rows)),),))

    return sheet


COLUMNS = ("run", "quantity", "published", "measured", "range", "off by", "matches")
"""`measured` is the median over seeds, `off by` its distance from the published number."""


def level_row(level: Level, found: Sequence[float], seeds: int) -> tuple[str, ...]:
    """One row of a table: the published number, the median of ours over seeds, and how far off it is."""
    published = f"{level.published:g}" + (f" {level.unit}" if level.unit in ("nats", "steps") else "")
    if not found:
        return (level.experiment, level.quantity, published, "not found", "", "", "no")
    middle = float(np.median(found))
    reached = f" ({len(found)} of {seeds} seeds)" if len(found) < seeds else ""
    return (
        level.experiment,
        level.quantity,
        published,
        three_digits(middle),
        f"{three_digits(min(found))} .. {three_digits(max(found))}",
        f"{middle - level.published:+.2f}",
        ("yes" if level.within(middle) else "no") + reached,
    )


def three_digits(value: float) -> str:
    """A number with three digits, or with those before its point where these are more.

    >>> three_digits(0.31234), three_digits(4356.2), three_digits(1.27e-5), three_digits(999.6)
    ('0.312', '4356', '1.27e-05', '1000')
    """
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"


def flow_levels(evidence: Evidence) -> Sheet:
    """Stage times of the flow as drawn, and its loss at the start, between stages (on a log scale) and at the end.

    The noise decides the times, so it is the figure's own; seeds would draw others.
    """
    from headwise.flow.stages import stage_times

    flows = [solved(flow_config(evidence.preset).changed({"noise_draw": "figure"}), 0)]
    times = [stage_times(flow.target, flow.heads_at, flow.solution) for flow in flows]

    def loss(flow: SolvedFlow, reached: Sequence[float | None], k: int) -> float | None:
        ends = [flow.solution.steps[0], *reached, flow.solution.steps[-1]]
        if k == 0 or k == len(reached):
            at = ends[k if k == 0 else -1]
        else:
            before, after = ends[k], ends[k + 1]
            at = None if before is None or after is None else math.sqrt(before * after)
        return None if at is None else float(flow.heads_at(flow.solution.at(np.array([at]))).loss[0])

    rows = []
    for k, published in enumerate((5.0, 50.0, 230.0)):
        level = Level("flow", f"time of stage {k + 1}", published, "time", lambda run: None)
        rows.append(level_row(level, [time for row in times if (time := row[k]) is not None], len(flows)))
    for k, exact in enumerate((6.12105, 1.945, 0.5, 0.0)):
        level = Level("flow", f"loss after {k} stages", exact, "loss", lambda run: None)
        found = [loss(flow, reached, k) for flow, reached in zip(flows, times, strict=True)]
        rows.append(level_row(level, [value for value in found if value is not None], len(flows)))
    return Sheet(((Table(COLUMNS, tuple(rows)),),))


TABLES = (
    *(
        Figure(
            f"table-levels-{name}",
            "numbers read off the published figures",
            f"published levels and boundaries beside ours: {name}",
            tuple(dict.fromkeys(level.experiment for level in levels)),
            ("published", "redrawn"),
            compose=compose(name),
            form="table",
        )
        for name, levels in LEVELS.items()
    ),
    Figure(
        "table-levels-flow",
        "numbers read off the published figures",
        "published stage times and levels beside ours: flow",
        (),
        ("published",),
        compose=flow_levels,
        form="table",
    ),
)
