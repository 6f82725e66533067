"""Ablations of the minimal model (§2.4, Fig. ablations): initial scale and importance hierarchy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headwise.paper.entry import Case, Claim
from headwise.paper.limit import Limit
from headwise.paper.quantities import acquisition_times, first_below, report_of
from headwise.paper.verdict import Judgement

LEFT = 0.75
"""A run has left the first plateau below this share of the excess loss at which u = 0 ends."""

STAYS = Limit(">", 0.6)
SCALES = ("init-xavier", "init-1e-3", "init-1e-6", "minimal")


def judge_init_scale(case: Case) -> Judgement:
    """Every start leaves the first plateau, later for a smaller scale, and u = 0 stays on it with equal heads.

    The two smallest scales may tie within one evaluation.
    """
    symmetric = case.runs["init-0"]
    level = float(symmetric["excess_loss"].values[-1])
    exits = {name: first_below(case.runs[name], LEFT * level) for name in SCALES}
    attention = symmetric["attention_by_lag"].values
    spread = float(np.abs(attention - attention[:, :, :1]).max())
    times = [np.inf if exits[name] is None else float(exits[name] or 0.0) for name in SCALES]
    every = float(np.diff(case.runs["minimal"]["step"].values).max())
    ordered = times[0] < times[1] < times[2] <= times[3] + every and bool(np.isfinite(times).all())
    stays = STAYS.holds(level) and first_below(symmetric, LEFT * level) is None
    left = ", ".join(f"{name} {time:g}" for name, time in zip(SCALES, times, strict=True))
    note = f"leaves the first plateau at {left}; u = 0 ends at {level:.2f} nats, heads differ by {spread:.1g}"
    return Judgement(bool(ordered and stays and spread == 0.0), times[-1], note)


STAGES = {"1": 2, "1.3": 3, "1.5": 3, "1.7": 3}
"""Stages in the loss that each ratio m should have."""

XAVIER = {"1": "ratio-1", "1.3": "ratio-1.3", "1.5": "ratio-1.5", "1.7": "init-xavier"}
SMALL = {"1": "small-ratio-1", "1.3": "small-ratio-1.3", "1.5": "small-ratio-1.5", "1.7": "minimal"}


def judge_hierarchy(case: Case, names: Mapping[str, str] = XAVIER) -> Judgement:
    """Stages in the loss by the detector; separation is the time from its first to its last boundary.

    When each group is acquired is in the note: a curve without plateaus may still acquire groups one by one.
    """
    counts, separation, lines = {}, {}, []
    for ratio, name in names.items():
        run = case.runs[name]
        boundaries = report_of(run).loss.boundaries
        counts[ratio] = len(boundaries) + 1
        separation[ratio] = boundaries[-1] - boundaries[0] if len(boundaries) > 1 else 0.0
        times = ", ".join("never" if t is None else f"{t:.0f}" for t in acquisition_times(run))
        lines.append(f"m = {ratio}: {counts[ratio]} stages, {separation[ratio]:.0f} apart, groups acquired at {times}")
    grows = separation["1.3"] < separation["1.5"] < separation["1.7"]
    return Judgement(bool(counts == STAGES and grows), float(counts["1"]), "; ".join(lines))


IN_STAGES = (
    f"{', '.join(str(count) for count in STAGES.values())} stages, "
    "and the time between first and last boundary grows with m"
)

CLAIMS = (
    Claim(
        "init-scale",
        "fig:ablations left",
        "a smaller initial scale u gives slower stages; at u = 0 heads stay equal and learn one pattern",
        (*SCALES, "init-0"),
        quantity="step at which u = 1e-9 leaves the first plateau",
        threshold="all leave, in order of u (the last two within one evaluation); "
        f"at u = 0 heads exactly equal and the excess loss stays {STAYS}",
        published=320.0,
        judge=judge_init_scale,
    ),
    Claim(
        "hierarchy",
        "fig:ablations right",
        "m = 1 has two stages in the loss; m = 1.3, 1.5, 1.7 have three, better separated as m grows",
        tuple(XAVIER.values()),
        ("published",),
        quantity="stages in the loss for m = 1",
        threshold=IN_STAGES,
        published=2.0,
        judge=judge_hierarchy,
    ),
    Claim(
        "hierarchy-small",
        "fig:ablations right, tiny start",
        "the same from scores of 1e-9 and zero values",
        tuple(SMALL.values()),
        quantity="stages in the loss for m = 1",
        threshold=IN_STAGES,
        published=2.0,
        judge=lambda case: judge_hierarchy(case, SMALL),
    ),
)
