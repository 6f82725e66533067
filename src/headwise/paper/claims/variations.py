"""Variations (App. F): weights within groups, overlap, reversed order, weight decay, depth, SGD."""

from __future__ import annotations

import numpy as np

from headwise.core.predictors import predictor_label
from headwise.paper.entry import Case, Claim
from headwise.paper.limit import Limit
from headwise.paper.quantities import (
    IN_ORDER,
    RISE,
    SMALLEST_RISE,
    group_shares,
    groups_of,
    judge_order,
    passage,
    prefixes,
    report_of,
)
from headwise.paper.verdict import Judgement

SHIFT = Limit("<=", 0.1)
SAME_END = Limit("<=", 0.05)
FOLLOWS = Limit(">", 1.3)
STAGES = Limit(">=", 2)
PAIR = 2


def judge_weight_decay(case: Case) -> Judgement:
    """Boundaries of the stages in function space move by little and the end is the same."""
    with_decay, without = case.runs["minimal"], case.runs["no-weight-decay"]
    first, second = (report_of(run).function.boundaries for run in (with_decay, without))
    ends = [float(run["excess_loss"].values[-1]) for run in (with_decay, without)]
    if not first:
        return Judgement(None, None, "the default run shows no stages to compare")
    if len(first) != len(second):
        return Judgement(False, None, f"{len(first) + 1} stages with weight decay, {len(second) + 1} without")
    length = float(with_decay["step"].values[-1] - with_decay["step"].values[0])
    moved = max(abs(a - b) for a, b in zip(first, second, strict=True)) / length
    note = f"boundaries {_steps(first)} and {_steps(second)}; final excess loss {ends[0]:.3f} and {ends[1]:.3f}"
    return Judgement(SHIFT.holds(moved) and SAME_END.holds(abs(ends[0] - ends[1])), moved, note)


def judge_alpha(case: Case) -> Judgement:
    """Order as before, and in each group the head most on it prefers the lag with the larger weight."""
    trajectory = case.runs["alpha"]
    order = judge_order(trajectory)
    if order.passed is None:
        return order
    shares = group_shares(trajectory)[-1]
    by_lag = trajectory["attention_by_lag"].isel(step=-1, block=0)
    ratios = []
    if any(len(lags) < PAIR for lags in groups_of(trajectory)):
        return Judgement(None, None, "a group of one lag has no weights that attention could follow")
    for k, lags in enumerate(groups_of(trajectory)):
        own = by_lag.isel(head=int(shares[:, k].argmax())).sel(lag=lags).values
        ratios.append(float(own[0] / own[1]))
    note = f"{order.note}; attention on the first lag over the second: {', '.join(f'{r:.2f}' for r in ratios)}"
    return Judgement(order.passed and FOLLOWS.holds(min(ratios)), float(np.median(ratios)), note)


def judge_overlap(case: Case) -> Judgement:
    """With three and with four heads an intermediate distance dips and rises, and the loss has at least two stages."""
    rises, lines, passed = [], [], True
    for name in ("overlap-3-heads", "overlap-4-heads"):
        seen = passage(case.runs[name], prefixes(case.runs[name]))
        if seen is None:
            return Judgement(None, None, f"{name}: distances to predictors are not finite")
        stages = len(report_of(case.runs[name]).loss.boundaries) + 1
        rises.append(max(seen.rises[:-1]))
        passed = passed and RISE.holds(rises[-1]) and STAGES.holds(stages)
        lines.append(f"{name}: {stages} stages in the loss; {seen.note}")
    return Judgement(passed, min(rises), "; ".join(lines))


def judge_depth(case: Case, name: str) -> Judgement:
    """Minima in order and the second distance rises; the first stage is less pronounced, so its distance need not."""
    trajectory = case.runs[name]
    seen = passage(trajectory, prefixes(trajectory))
    if seen is None:
        return Judgement(None, None, "the distances to the predictors were not recorded or are not finite")
    return Judgement(seen.ordered and RISE.holds(seen.rises[1]), seen.rises[1], seen.note)


def _steps(boundaries: tuple[float, ...]) -> str:
    return ", ".join(f"{step:.0f}" for step in boundaries)


SECOND_RISE = f"rise of the distance to {predictor_label('prefix_2')} after its minimum (nats)"

CLAIMS = (
    Claim(
        "reverse",
        "app:reverse_order",
        "with the furthest group the most important the stages are the same",
        ("reverse",),
        quantity=SMALLEST_RISE,
        threshold=IN_ORDER,
        limit=RISE,
        judge=lambda case: judge_order(case.runs["reverse"]),
    ),
    Claim(
        "weight-decay",
        "app:weight_decay",
        "without weight decay almost nothing changes",
        ("minimal", "no-weight-decay"),
        quantity="largest shift of a boundary between stages (share of the run)",
        threshold=f"{SHIFT} of the run, and final excess losses within {SAME_END.number} nats",
        limit=SHIFT,
        judge=judge_weight_decay,
    ),
    Claim(
        "depth",
        "fig:2layer-minimal",
        "two minimal blocks: the same stages, the first less pronounced",
        ("depth-minimal",),
        quantity=SECOND_RISE,
        threshold=f"minima strictly in order and this rise {RISE} nats",
        limit=RISE,
        judge=lambda case: judge_depth(case, "depth-minimal"),
    ),
    Claim(
        "depth-full",
        "fig:2layer-full",
        "two full blocks: the same stages, the first less pronounced",
        ("depth-full",),
        quantity=SECOND_RISE,
        threshold=f"minima strictly in order and this rise {RISE} nats",
        limit=RISE,
        judge=lambda case: judge_depth(case, "depth-full"),
    ),
    Claim(
        "alpha",
        "fig:kl-non-uniform-alphas",
        "with weights (0.7, 0.3) the stages are the same and attention follows the weights",
        ("alpha",),
        quantity="median over groups of attention on the first lag over the second (weights: 2.33)",
        threshold=f"minima in order with rises {RISE} nats, and the ratio {FOLLOWS} in every group",
        judge=judge_alpha,
    ),
    Claim(
        "overlap",
        "fig:kl-overlapping-4heads",
        "with overlapping groups stages remain, for three and for four heads; their order may differ",
        ("overlap-3-heads", "overlap-4-heads"),
        quantity="smaller over the two runs of the largest rise of an intermediate distance (nats)",
        threshold=f"an intermediate distance rises by {RISE} nats and the loss has {STAGES} stages, in both runs",
        limit=RISE,
        judge=judge_overlap,
    ),
    Claim(
        "sgd",
        "fig:kl-sgd-full-one-layer",
        "with SGD and momentum the stages are the same",
        ("sgd",),
        quantity=SMALLEST_RISE,
        threshold=IN_ORDER,
        limit=RISE,
        judge=lambda case: judge_order(case.runs["sgd"]),
    ),
)
