"""Data (§2.5, App. F): how much of it, and fresh data at every step."""

from __future__ import annotations

import itertools

import numpy as np
import xarray as xr

from headwise.core.predictors import predictor_label, predictors_of_kind
from headwise.paper.entry import FUNCTION, Case, Claim
from headwise.paper.limit import Limit
from headwise.paper.quantities import best_index, group_shares
from headwise.paper.stages import IN_STAGES, judge_stages, passage
from headwise.paper.verdict import Judgement

SIZES = ("samples-600", "samples-2000", "samples-9000", "online")
OVERFIT = Limit(">=", 0.5)
TWICE = Limit(">=", 2.0)
NOT_MORE = Limit("<=", 1.0)
FEWER = Limit(">", 0)
MORE = Limit("<", 0)
WORSE = Limit("<=", -0.1)
SAME_TIMES = Limit("<=", 1.5)


def transitions(trajectory: xr.Dataset) -> int | str:
    """How many stages a run has gone through when early stopping stops it, or why that cannot be read.

    A stage counts where its b_i was the nearest and nearer than a run without stages comes.
    """
    seen = passage(trajectory)
    if isinstance(seen, str):
        return seen
    until = seen.nearest[: max(1, best_index(trajectory))]
    return sum(seen.reached(i) and bool((until == i).any()) for i in range(2, seen.groups + 1))


def judge_data_size(case: Case) -> Judgement:
    """The best excess loss falls with the number of sequences, and so does not the number of transitions."""
    best = [float(case.runs[name]["excess_loss"].values[best_index(case.runs[name])]) for name in SIZES]
    counted = [transitions(case.runs[name]) for name in SIZES]
    unread = [one for one in counted if isinstance(one, str)]
    if unread:
        return Judgement(None, best[0], unread[0])
    counts = [int(one) for one in counted]
    falls = all(a > b for a, b in itertools.pairwise(best))
    fewer = counts[0] < counts[2] and all(a <= b for a, b in itertools.pairwise(counts))
    note = "; ".join(f"{n}: {b:.2f} nats, {g} transitions" for n, b, g in zip(SIZES, best, counts, strict=True))
    return Judgement(falls and fewer, best[0], note)


def judge_early_stop(case: Case) -> Judgement:
    """At the best step of 600 sequences a b_i of fewer groups is nearer than the law; at 9000 the law is."""
    margins, lines = {}, []
    for name in ("samples-600", "samples-9000"):
        seen = passage(case.runs[name])
        if isinstance(seen, str):
            return Judgement(None, None, f"{name}: {seen}")
        at = best_index(case.runs[name])
        row = seen.curves[at]
        margins[name] = float(row[-1] - row[:-1].min())
        shown = ", ".join(f"b_{i} {value:.2f}" for i, value in enumerate(row, start=1))
        lines.append(f"{name} at step {seen.steps[at]:g}: {shown}")
    passed = FEWER.holds(margins["samples-600"]) and MORE.holds(margins["samples-9000"])
    return Judgement(passed, margins["samples-600"], "; ".join(lines))


def judge_early_stop_trained(case: Case) -> Judgement:
    """The same against trained models of restricted context, as the figure has it."""
    margins, lines = {}, []
    for name in ("samples-600-ample", "samples-9000"):
        trajectory = case.runs[name]
        names = predictors_of_kind(trajectory["predictor"].values, "window")
        row = trajectory["kl"].sel(predictor=names).values[best_index(trajectory)]
        margins[name] = float(row[-1] - row[:-1].min())
        shown = ", ".join(f"{predictor_label(n)} {v:.2f}" for n, v in zip(names, row, strict=True))
        lines.append(f"{name} at step {trajectory['step'].values[best_index(trajectory)]:g}: {shown}")
    passed = FEWER.holds(margins["samples-600-ample"]) and MORE.holds(margins["samples-9000"])
    return Judgement(passed, margins["samples-600-ample"], "; ".join(lines))


def overfit_by(trajectory: xr.Dataset) -> float:
    """Nats by which the excess loss at the end is above its best."""
    excess = trajectory["excess_loss"].values
    return float(excess[-1] - np.nanmin(excess))


def structure(trajectory: xr.Dataset) -> np.ndarray:
    """Mean share of the heads on each group at the end over that at the start, where attention is uniform."""
    shares = group_shares(trajectory).mean(1)
    return np.asarray(shares[-1] / shares[0])


def structured(ratios: np.ndarray) -> bool:
    """Whether the first two groups get at least twice their uniform share and the third not more than it."""
    return all(TWICE.holds(float(ratio)) for ratio in ratios[:2]) and NOT_MORE.holds(float(ratios[2]))


def judge_overfit(case: Case) -> Judgement:
    """At the end of 600 sequences, once the model overfits; measured: the third group's share over uniform."""
    trajectory = case.runs["samples-600"]
    overfit, ratios = overfit_by(trajectory), structure(trajectory)
    shown = ", ".join(f"I({k + 1}) {ratio:.2f}" for k, ratio in enumerate(ratios))
    note = f"shares over uniform: {shown}; overfit by {overfit:.2f} nats"
    if not OVERFIT.holds(overfit):
        return Judgement(None, float(ratios[2]), f"not overfit: {note}")
    return Judgement(structured(ratios), float(ratios[2]), note)


def judge_overfit_values(case: Case) -> Judgement:
    """Feature matrices move away from the task's while attention keeps its structure; measured: change of the cosine.

    The cosine is that of the head whose value is nearest to A_1, at the end less at the step of the best loss.
    """
    trajectory = case.runs["samples-600"]
    overfit, ratios = overfit_by(trajectory), structure(trajectory)
    cosines = trajectory["value_cosine"].isel(group=0).max(("block", "head")).values
    change = float(cosines[-1] - cosines[best_index(trajectory)])
    note = f"cosine with A_1 changes by {change:.2f}; I(1) has {ratios[0]:.2f} times its uniform share"
    if not OVERFIT.holds(overfit):
        return Judgement(None, change, f"not overfit: {note}")
    return Judgement(WORSE.holds(change) and TWICE.holds(float(ratios[0])), change, note)


def judge_online(case: Case) -> Judgement:
    """Stages as before, and each begins when it does with finite data, up to a factor; measured: that factor."""
    stages = judge_stages(case.runs["online"])
    if stages.passed is not True:
        return Judgement(stages.passed, None, stages.note)
    seen, default = passage(case.runs["online"]), passage(case.runs["minimal"])
    if isinstance(seen, str) or isinstance(default, str):
        return Judgement(None, None, f"minimal: {default}")
    factor, lines = 1.0, []
    for i in range(2, seen.groups + 1):
        mine, its = seen.begins(i), default.begins(i)
        if not mine or not its:
            return Judgement(None, None, f"minimal never comes to stage {i}; {stages.note}")
        factor = max(factor, mine / its, its / mine)
        lines.append(f"stage {i} begins at {mine:g}, with finite data at {its:g}")
    return Judgement(SAME_TIMES.holds(factor), factor, f"{'; '.join(lines)}; {stages.note}")


CLAIMS = (
    Claim(
        "data-size",
        "fig:generalization left",
        "fewer sequences, fewer stages; the best excess loss falls with their number",
        SIZES,
        quantity="best excess loss with 600 sequences",
        unit="nats",
        threshold="600 > 2000 > 9000 > fresh, transitions before early stopping never fewer with more sequences, "
        "and fewer at 600 than at 9000",
        published=1.33,
        concerns=FUNCTION,
        judge=judge_data_size,
    ),
    Claim(
        "early-stop",
        "fig:generalization right",
        "with few sequences the early-stopped model is nearest a predictor of fewer groups",
        ("samples-600", "samples-9000"),
        quantity="how much nearer the nearest b_i of fewer groups is than the law, at 600 sequences",
        unit="nats",
        threshold=f"{FEWER} at 600 sequences and {MORE} at 9000",
        limit=FEWER,
        judge=judge_early_stop,
    ),
    Claim(
        "early-stop-ample",
        "fig:generalization right, trained contexts",
        "the same against models of restricted context, trained on 9000 sequences",
        ("samples-600-ample", "samples-9000"),
        quantity="how much nearer the nearest shorter context is than context 6, at 600 sequences",
        unit="nats",
        threshold=f"{FEWER} at 600 sequences and {MORE} at 9000",
        limit=FEWER,
        judge=judge_early_stop_trained,
    ),
    Claim(
        "overfit-structure",
        "sec:generalization",
        "with 600 sequences attention stays on the first two patterns even when overfit",
        ("samples-600",),
        quantity="mean share of the heads on I(3) at the end",
        unit="times its share under uniform attention",
        threshold=f"{NOT_MORE} on I(3), {TWICE} on I(1) and on I(2), "
        f"with the excess loss {OVERFIT.number} above its best",
        limit=NOT_MORE,
        judge=judge_overfit,
    ),
    Claim(
        "overfit-values",
        "sec:generalization, values",
        "with 600 sequences feature matrices overfit while attention keeps its structure",
        ("samples-600",),
        quantity="change of the largest cosine between a value matrix and A_1, from the best step to the end",
        unit="cosine",
        threshold=f"{WORSE}, and I(1) {TWICE} of its uniform share, "
        f"with the excess loss {OVERFIT.number} above its best",
        limit=WORSE,
        judge=judge_overfit_values,
    ),
    Claim(
        "online",
        "app:infinite_data",
        "with fresh data at every step the stages are the same",
        ("online", "minimal"),
        quantity="largest ratio between the steps at which a stage begins with fresh and with finite data",
        unit="ratio of steps",
        threshold=f"{SAME_TIMES}, and {IN_STAGES}",
        limit=SAME_TIMES,
        concerns=FUNCTION,
        judge=judge_online,
    ),
)
