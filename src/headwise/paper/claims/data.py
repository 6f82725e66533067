"""Data (§2.5, App. F): how much of it, and fresh data at every step."""

from __future__ import annotations

import itertools

import numpy as np
import xarray as xr

from headwise.core.predictors import predictor_label, predictors_of_kind
from headwise.paper.entry import Case, Claim
from headwise.paper.limit import Limit
from headwise.paper.quantities import IN_ORDER, RISE, SMALLEST_RISE, best_index, group_shares, judge_order, prefixes
from headwise.paper.verdict import Judgement

SIZES = ("samples-600", "samples-2000", "samples-9000", "online")
OVERFIT = Limit(">=", 0.5)
LITTLE = Limit("<", 0.15)
MOST = Limit(">", 0.5)
NEARER = Limit(">", 0)
FURTHER = Limit("<", 0)


def nearest_prefix(trajectory: xr.Dataset) -> int:
    """How many groups the predictor nearest to the best model uses."""
    row = trajectory["kl"].sel(predictor=prefixes(trajectory)).values[best_index(trajectory)]
    return int(row.argmin()) + 1


def judge_data_size(case: Case) -> Judgement:
    """The best excess loss falls with the number of sequences; the best model of 600 uses fewer groups than of 9000."""
    best = [float(case.runs[name]["excess_loss"].values[best_index(case.runs[name])]) for name in SIZES]
    groups = [nearest_prefix(case.runs[name]) for name in SIZES]
    falls = all(a > b for a, b in itertools.pairwise(best))
    fewer = groups[0] < groups[2] and all(a <= b for a, b in itertools.pairwise(groups))
    note = "; ".join(f"{n}: {b:.2f} nats, {g} groups" for n, b, g in zip(SIZES, best, groups, strict=True))
    return Judgement(falls and fewer, best[0], note)


def judge_early_stop(case: Case, few: str = "samples-600") -> Judgement:
    """At the best step of 600 sequences a shorter context is nearer than the longest; at 9000 the longest is."""
    margins, lines = {}, []
    for name in (few, "samples-9000"):
        trajectory = case.runs[name]
        names = predictors_of_kind(trajectory["predictor"].values, "window")
        row = trajectory["kl"].sel(predictor=names).values[best_index(trajectory)]
        margins[name] = float(row[-1] - row[:-1].min())
        shown = ", ".join(f"{predictor_label(n)} {v:.2f}" for n, v in zip(names, row, strict=True))
        lines.append(f"{name} at step {trajectory['step'].values[best_index(trajectory)]:g}: {shown}")
    passed = NEARER.holds(margins[few]) and FURTHER.holds(margins["samples-9000"])
    return Judgement(passed, margins[few], "; ".join(lines))


def judge_overfit(case: Case) -> Judgement:
    """At the end of 600 sequences, once the model overfits: attention on I(1) and I(2), little on I(3)."""
    trajectory = case.runs["samples-600"]
    excess = trajectory["excess_loss"].values
    overfit = float(excess[-1] - np.nanmin(excess))
    shares = group_shares(trajectory)[-1].mean(0)
    note = (
        f"mean shares {', '.join(f'I({k + 1}) {s:.2f}' for k, s in enumerate(shares))}; overfit by {overfit:.2f} nats"
    )
    if not OVERFIT.holds(overfit):
        return Judgement(None, float(shares[2]), f"not overfit: {note}")
    return Judgement(LITTLE.holds(shares[2]) and MOST.holds(shares[:2].sum()), float(shares[2]), note)


CLAIMS = (
    Claim(
        "data-size",
        "fig:generalization left",
        "fewer sequences, fewer stages; the best excess loss falls with their number",
        SIZES,
        quantity="best excess loss with 600 sequences (nats)",
        threshold="600 > 2000 > 9000 > fresh, and the best model of 600 is nearest a predictor of fewer groups",
        published=1.33,
        judge=judge_data_size,
    ),
    Claim(
        "early-stop",
        "fig:generalization right",
        "with few sequences the early-stopped model is nearest a model of shorter context",
        ("samples-600", "samples-9000"),
        quantity="how much nearer the nearest shorter context is than context 6, at 600 sequences (nats)",
        threshold=f"{NEARER} at 600 sequences and {FURTHER} at 9000",
        limit=NEARER,
        judge=judge_early_stop,
    ),
    Claim(
        "early-stop-ample",
        "fig:generalization right, ample contexts",
        "the same, where the models of restricted context were trained on 9000 sequences",
        ("samples-600-ample", "samples-9000"),
        quantity="how much nearer the nearest shorter context is than context 6, at 600 sequences (nats)",
        threshold=f"{NEARER} at 600 sequences and {FURTHER} at 9000",
        limit=NEARER,
        judge=lambda case: judge_early_stop(case, "samples-600-ample"),
    ),
    Claim(
        "overfit-structure",
        "sec:generalization",
        "with 600 sequences attention stays on the first two patterns even when overfit",
        ("samples-600",),
        quantity="mean share of the heads on I(3) at the end",
        threshold=f"{LITTLE} on I(3) and {MOST} on I(1) and I(2) together, "
        f"with the excess loss {OVERFIT.number} above its best",
        limit=LITTLE,
        judge=judge_overfit,
    ),
    Claim(
        "online",
        "app:infinite_data",
        "with fresh data at every step the stages are the same",
        ("online",),
        quantity=SMALLEST_RISE,
        threshold=IN_ORDER,
        limit=RISE,
        judge=lambda case: judge_order(case.runs["online"]),
    ),
)
