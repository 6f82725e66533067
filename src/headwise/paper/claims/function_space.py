"""Stages in function space (§2.3, Fig. kl) and the joint acquisition of pattern and feature."""

from __future__ import annotations

import numpy as np

from headwise.core.predictors import predictor_label
from headwise.paper.entry import Case, Claim
from headwise.paper.limit import Limit
from headwise.paper.quantities import IN_ORDER, RISE, SMALLEST_RISE, crossing, judge_order, report_of
from headwise.paper.verdict import Judgement

COINCIDE = Limit("<=", 0.1)


def judge_windows(case: Case) -> Judgement:
    """The last predictor is the exact law as published, the trained model of context 12 in the text's words."""
    last = "window_12" if case.preset == "text" else "prefix_3"
    return judge_order(case.runs["windows"], ("window_4", "window_8", last))


def judge_joint(case: Case) -> Judgement:
    """Half-way times of the leaving head's attention on its new group and of its value coefficient, for every
    offshoot; measured: the largest difference as a share of the run."""
    trajectory = case.runs["minimal"]
    offshoots = report_of(trajectory).offshoots
    if not offshoots:
        return Judgement(None, None, "no head leaves: there is no joint acquisition to time")
    steps = trajectory["step"].values.astype(float)
    gaps, lines = [], []
    for offshoot in offshoots:
        place = {"block": offshoot.block, "head": offshoot.head, "group": offshoot.target}
        times = []
        for name in ("attention_by_group", "value_coefficient"):
            curve = trajectory[name].sel(place).values
            times.append(crossing(steps, curve, float(curve[-1]) / 2))
        attention, value = times
        if attention is None or value is None:
            return Judgement(None, None, f"head {offshoot.head} does not cross half of its final I({offshoot.target})")
        gaps.append(abs(attention - value) / (steps[-1] - steps[0]))
        lines.append(f"I({offshoot.target}): attention at {attention:.0f}, value at {value:.0f}")
    worst = float(np.max(gaps))
    return Judgement(COINCIDE.holds(worst), worst, "; ".join(lines))


CLAIMS = (
    Claim(
        "order",
        "fig:kl left, minimal model",
        "the model passes {}, then {}, and ends at {}".format(*(predictor_label(f"prefix_{k}") for k in (1, 2, 3))),
        ("minimal",),
        quantity=SMALLEST_RISE,
        threshold=IN_ORDER,
        limit=RISE,
        published=0.385,
        judge=lambda case: judge_order(case.runs["minimal"]),
    ),
    Claim(
        "order-full",
        "fig:kl left",
        "the same for the full decoder",
        ("full",),
        quantity=SMALLEST_RISE,
        threshold=IN_ORDER,
        limit=RISE,
        published=0.37,
        judge=lambda case: judge_order(case.runs["full"]),
    ),
    Claim(
        "windows",
        "fig:kl right",
        "the full decoder passes the trained models of context 4 and 8 and ends nearest to full context",
        ("windows",),
        quantity=SMALLEST_RISE,
        threshold=IN_ORDER,
        limit=RISE,
        judge=judge_windows,
    ),
    Claim(
        "joint",
        "sec:incremental",
        "each pattern is acquired together with its feature matrix",
        ("minimal",),
        quantity="largest gap between half-way times of attention and value (share of the run)",
        threshold=f"{COINCIDE} of the run for every offshoot",
        limit=COINCIDE,
        judge=judge_joint,
    ),
)
