"""Variations (App. F): weights within groups, overlap, reversed order, weight decay, depth, SGD."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from headwise.paper.acquisition import acquisitions
from headwise.paper.entry import FUNCTION, HEADS, Case, Claim
from headwise.paper.head_stages import APART, IN_TURN, ONE_AT_A_TIME, judge_heads
from headwise.paper.limit import Limit
from headwise.paper.quantities import group_shares, groups_of
from headwise.paper.stages import IN_STAGES, NEARER, NEAREST_RATIO, first_stage_share, judge_stages, passage
from headwise.paper.verdict import Judgement

if TYPE_CHECKING:
    import xarray as xr

WITHIN_SEEDS = Limit("<=", 1.0)
SAME_END = Limit("<=", 0.05)
FOLLOWS = Limit(">", 1.3)
SHORTER = Limit("<", 1.0)
CLEARER = Limit("<", 1.0)
PAIR = 2


def starts(trajectory: xr.Dataset) -> list[float] | str:
    """The steps at which stages 2, 3, ... begin, or why they cannot be read."""
    seen = passage(trajectory)
    if isinstance(seen, str):
        return seen
    found = [seen.begins(i) for i in range(2, seen.groups + 1)]
    if any(step is None for step in found):
        return f"not all stages begin: {seen.note}"
    return [float(step) for step in found if step is not None]


def judge_weight_decay(case: Case) -> Judgement:
    """How far stages shift without weight decay, against how far they differ between seeds with it.

    Measured: the largest ratio of later to earlier start without decay, on a log scale, over the largest between seeds.
    """
    names = ("minimal", "no-weight-decay")
    mine = [starts(case.runs[name]) for name in names]
    others = [found for run in case.others.get("minimal", ()) if not isinstance(found := starts(run), str)]
    if isinstance(mine[0], str) or isinstance(mine[1], str):
        return Judgement(None, None, str(next(one for one in mine if isinstance(one, str))))
    if not others:
        return Judgement(None, None, "there is no other seed whose spread the shift could be compared with")
    default, without = np.log(np.array(mine[0])), np.log(np.array(mine[1]))
    shift = float(np.abs(default - without).max())
    seeds = [default, *(np.log(np.array(one)) for one in others)]
    spread = max(float(np.abs(a - b).max()) for a, b in itertools.combinations(seeds, 2))
    ends = [float(case.runs[name]["excess_loss"].values[-1]) for name in names]
    note = (
        f"stages begin at {_steps(mine[0])}, without decay at {_steps(mine[1])}, in other seeds at "
        f"{' and '.join(_steps(one) for one in others)}; final excess loss {ends[0]:.3f} and {ends[1]:.3f}"
    )
    ratio = shift / max(spread, 1e-12)
    return Judgement(WITHIN_SEEDS.holds(ratio) and SAME_END.holds(abs(ends[0] - ends[1])), ratio, note)


def judge_alpha(case: Case) -> Judgement:
    """Stages as before, and in each group the head most on it prefers the lag with the larger weight."""
    trajectory = case.runs["alpha"]
    if any(len(lags) < PAIR for lags in groups_of(trajectory)):
        return Judgement(None, None, "a group of one lag has no weights that attention could follow")
    stages = judge_stages(trajectory)
    if stages.passed is not True:
        return Judgement(stages.passed, None, stages.note)
    shares = group_shares(trajectory)[-1]
    by_lag = trajectory["attention_by_lag"].isel(step=-1, block=0)
    ratios = []
    for k, lags in enumerate(groups_of(trajectory)):
        own = by_lag.isel(head=int(shares[:, k].argmax())).sel(lag=lags).values
        ratios.append(float(own[0] / own[1]))
    note = f"attention on the first lag over the second: {', '.join(f'{r:.2f}' for r in ratios)}; {stages.note}"
    return Judgement(FOLLOWS.holds(min(ratios)), float(np.median(ratios)), note)


def judge_overlap(case: Case) -> Judgement:
    """Stages remain with three and with four heads; measured: the larger ratio to a run without stages."""
    found = {name: judge_stages(case.runs[name]) for name in ("overlap-3-heads", "overlap-4-heads")}
    note = "; ".join(f"{name}: {one.note}" for name, one in found.items())
    passed = [one.passed for one in found.values()]
    worst = max((one.measured for one in found.values() if one.measured is not None), default=None)
    return Judgement(False if False in passed else None if None in passed else True, worst, note)


def judge_overlap_order(case: Case) -> Judgement:
    """The order in which attention reaches the groups, with three and with four heads; measured: whether it differs."""
    orders = {}
    for name in ("overlap-3-heads", "overlap-4-heads"):
        orders[name] = [one.group for one in acquisitions(case.runs[name])]
        if len(orders[name]) < case.runs[name].sizes["group"]:
            return Judgement(None, None, f"{name}: only groups {orders[name]} are acquired")
    note = "; ".join(f"{name}: {', '.join(f'I({k})' for k in order)}" for name, order in orders.items())
    different = orders["overlap-3-heads"] != orders["overlap-4-heads"]
    return Judgement(different, float(different), note)


def judge_depth(case: Case, name: str, single: str) -> Judgement:
    """Stages as before, and the first one takes a smaller share of the time than with one block.

    Less pronounced is read as shorter: the run has to come as near to the first predictor as any run with stages.
    """
    deep, flat = passage(case.runs[name]), passage(case.runs[single])
    if isinstance(deep, str) or isinstance(flat, str):
        return Judgement(None, None, str(deep if isinstance(deep, str) else flat))
    stages = judge_stages(case.runs[name])
    shares = first_stage_share(deep), first_stage_share(flat)
    if stages.passed is not True:
        return Judgement(stages.passed, None, stages.note)
    if shares[0] is None or shares[1] is None:
        return Judgement(None, None, f"{single} never comes to its last stage")
    note = f"first stage {shares[0]:.2f} of the time to the last, with one block {shares[1]:.2f}; {stages.note}"
    return Judgement(SHORTER.holds(shares[0] / shares[1]), shares[0] / shares[1], note)


def judge_easier(case: Case) -> Judgement:
    """How near the run comes to the predictors in between, against the default order; measured: the ratio of both."""
    reverse, default = passage(case.runs["reverse"]), passage(case.runs["full"])
    if isinstance(reverse, str) or isinstance(default, str):
        return Judgement(None, None, str(reverse if isinstance(reverse, str) else default))
    stages = judge_stages(case.runs["reverse"])
    if stages.passed is not True:
        return Judgement(stages.passed, None, stages.note)
    mine, its = float(reverse.ratios.max()), float(default.ratios.max())
    note = f"largest ratio to a run without stages {mine:.2f} reversed, {its:.2f} in the default order"
    return Judgement(CLEARER.holds(mine / its), mine / its, note)


def judge_sgd(case: Case) -> Judgement:
    """Stages as before; the note has when they begin, as multiples of the first, beside AdamW's."""
    stages = judge_stages(case.runs["sgd"])
    times = [starts(case.runs[name]) for name in ("sgd", "full")]
    lines = [
        f"{name}: stages begin at {_steps(one)}, {one[-1] / one[0]:.1f} times the first"
        for name, one in zip(("SGD", "AdamW"), times, strict=True)
        if not isinstance(one, str)
    ]
    return Judgement(stages.passed, stages.measured, "; ".join([*lines, stages.note]))


def _steps(found: list[float]) -> str:
    return ", ".join(f"{step:.0f}" for step in found)


def _heads(name: str, label: str, about: str, experiment: str, groups: int | None = None) -> Claim:
    """Competition and departures in one variation."""
    return Claim(
        name,
        label,
        about,
        (experiment,),
        quantity=ONE_AT_A_TIME,
        unit="widths of a departure",
        threshold=IN_TURN if groups is None else f"{IN_TURN}, up to group {groups}",
        limit=APART if groups is None else None,
        concerns=HEADS,
        judge=lambda case: judge_heads(case.runs[experiment], groups),
    )


FIRST_STAGE = "share of the time to the last stage that the first takes, over that with one block"

CLAIMS = (
    Claim(
        "reverse",
        "app:reverse_order",
        "with the furthest group the most important the stages are the same",
        ("reverse",),
        quantity=NEAREST_RATIO,
        unit="ratio of KL divergences",
        threshold=IN_STAGES,
        limit=NEARER,
        concerns=FUNCTION,
        judge=lambda case: judge_stages(case.runs["reverse"]),
    ),
    Claim(
        "reverse-easier",
        "app:reverse_order, comparison",
        "stages are easier to see when the most important group is the furthest",
        ("reverse", "full"),
        quantity=f"{NEAREST_RATIO}, reversed over default",
        unit="ratio",
        threshold=f"{CLEARER}, and reversed {IN_STAGES}",
        limit=CLEARER,
        concerns=FUNCTION,
        judge=judge_easier,
    ),
    _heads("heads-reverse", "app:reverse_order, heads", "the same of the heads in reversed order", "reverse"),
    Claim(
        "weight-decay",
        "app:weight_decay",
        "without weight decay almost nothing changes",
        ("minimal", "no-weight-decay"),
        quantity="largest shift of a stage's beginning over the largest between seeds, both on a log scale",
        unit="spreads between seeds",
        threshold=f"{WITHIN_SEEDS}, and final excess losses within {SAME_END.number} nats",
        limit=WITHIN_SEEDS,
        across_seeds=True,
        judge=judge_weight_decay,
    ),
    Claim(
        "depth",
        "fig:2layer-minimal",
        "two minimal blocks: the same stages, the first less pronounced",
        ("depth-minimal", "init-xavier"),
        quantity=FIRST_STAGE,
        unit="ratio of shares",
        threshold=f"{SHORTER}, and {IN_STAGES}",
        limit=SHORTER,
        concerns=FUNCTION,
        judge=lambda case: judge_depth(case, "depth-minimal", "init-xavier"),
    ),
    Claim(
        "depth-full",
        "fig:2layer-full",
        "two full blocks: the same stages, the first less pronounced",
        ("depth-full", "full"),
        quantity=FIRST_STAGE,
        unit="ratio of shares",
        threshold=f"{SHORTER}, and {IN_STAGES}",
        limit=SHORTER,
        concerns=FUNCTION,
        judge=lambda case: judge_depth(case, "depth-full", "full"),
    ),
    Claim(
        "alpha",
        "fig:kl-non-uniform-alphas",
        "with weights (0.7, 0.3) the stages are the same and attention follows the weights",
        ("alpha",),
        quantity="median over groups of attention on the first lag over the second (weights: 2.33)",
        unit="ratio of shares",
        threshold=f"the ratio {FOLLOWS} in every group, and {IN_STAGES}",
        concerns=FUNCTION,
        judge=judge_alpha,
    ),
    _heads("heads-alpha", "fig:attention-non-uniform-alphas", "the same of the heads with those weights", "alpha"),
    Claim(
        "overlap",
        "fig:kl-overlapping-4heads",
        "with overlapping groups stages remain, for three and for four heads; their order may differ",
        ("overlap-3-heads", "overlap-4-heads"),
        quantity=f"{NEAREST_RATIO}, larger of the two runs",
        unit="ratio of KL divergences",
        threshold=f"in both runs {IN_STAGES}",
        limit=NEARER,
        concerns=FUNCTION,
        judge=judge_overlap,
    ),
    Claim(
        "overlap-order",
        "fig:attention-four-heads-overlapping-intervals",
        "with overlapping groups three and four heads learn them in different orders",
        ("overlap-3-heads", "overlap-4-heads"),
        quantity="whether the orders in which attention reaches the groups differ",
        unit="1 or 0",
        threshold="the two orders differ",
        judge=judge_overlap_order,
    ),
    _heads(
        "heads-overlap",
        "fig:attention-three-heads-overlapping-intervals",
        "the same of three heads with overlapping groups",
        "overlap-3-heads",
    ),
    _heads(
        "heads-init", "fig:ablations left, heads", "the same of the heads from a larger scale, u = 1e-3", "init-1e-3"
    ),
    _heads(
        "heads-data", "fig:generalization, heads", "the same with 2000 sequences, as far as I(2)", "samples-2000", 2
    ),
    Claim(
        "sgd",
        "fig:kl-sgd-full-one-layer",
        "with SGD and momentum the stages are the same",
        ("sgd", "full"),
        quantity=NEAREST_RATIO,
        unit="ratio of KL divergences",
        threshold=IN_STAGES,
        limit=NEARER,
        concerns=FUNCTION,
        judge=judge_sgd,
    ),
    _heads("heads-sgd", "fig:attention-sgd-full-one-layer", "the same of the heads with SGD", "sgd"),
)
