"""Heads (Fig. attention, Fig. collaboration): competition, departures, specialisation, compensation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from headwise.paper.entry import HEADS, Case, Claim
from headwise.paper.head_stages import (
    APART,
    COMPETE,
    IN_TURN,
    MOST,
    ON,
    ON_FIRST,
    ONE_AT_A_TIME,
    SPECIALISED,
    competition_at,
    departures,
    first_above,
    judge_competition,
    judge_departures,
    judge_heads,
    judge_specialisation,
    lead,
)
from headwise.paper.limit import Limit
from headwise.paper.quantities import group_shares, groups_of, report_of
from headwise.paper.stages import passage
from headwise.paper.verdict import Judgement

if TYPE_CHECKING:
    import xarray as xr

DIP = Limit("<=", -0.05)
DIAGONAL = Limit("<", 0.8)
EVEN = Limit("<=", 0.1)
ALIKE = Limit("<=", 1.0)
LOSES = Limit("<=", 0.5)


def judge_extra_heads(case: Case) -> Judgement:
    """Competition and departures as with three heads; at the end every group has a head that is mostly on it."""
    trajectory = case.runs["heads-4"]
    heads = judge_heads(trajectory)
    best = float(group_shares(trajectory)[-1].max(0).min())
    if heads.passed is None:
        return Judgement(None, best, heads.note)
    return Judgement(bool(heads.passed and MOST.holds(best)), best, heads.note)


def judge_diagonal(case: Case) -> Judgement:
    """Lag 1 against the mean of the other lags of I(1), for the head most on I(1): low with residual, not without."""
    ratios = {}
    for name in ("windows", "no-residual"):
        trajectory = case.runs[name]
        shares = trajectory["attention_by_group"].isel(step=-1, block=0, group=0).values
        lags = groups_of(trajectory)[0]
        by_lag = trajectory["attention_by_lag"].isel(step=-1, block=0, head=int(shares.argmax())).sel(lag=lags).values
        ratios[name] = float(by_lag[0] / by_lag[1:].mean())
    note = f"lag 1 over the others: {ratios['windows']:.2f} with residual, {ratios['no-residual']:.2f} without"
    passed = DIAGONAL.holds(ratios["windows"]) and DIAGONAL.opposite.holds(ratios["no-residual"])
    return Judgement(passed, ratios["windows"], note)


def judge_uniform_start(trajectory: xr.Dataset) -> Judgement:
    """Attention on the task's lags at step 0, head by head; measured: the largest departure from its mean."""
    lags = sorted({lag for group in groups_of(trajectory) for lag in group})
    first = trajectory["attention_by_lag"].isel(step=0).sel(lag=lags).transpose("block", "head", "lag").values
    off = float(np.abs(first / first.mean(-1, keepdims=True) - 1).max())
    return Judgement(EVEN.holds(off), off, f"attention on a lag is off its mean by up to {off:.1%} at step 0")


def judge_others_stay(trajectory: xr.Dataset) -> Judgement:
    """When the first head is three quarters of its way to I(2), all others are still on I(1); measured: their lead."""
    seen = passage(trajectory)
    if isinstance(seen, str):
        return Judgement(None, None, seen)
    competition = judge_competition(trajectory)
    first = next((one for one in departures(trajectory, seen) if one.group == 2), None)
    if first is None or not competition.passed:
        return Judgement(False, None, competition.note if first is not None else "no head goes to I(2)")
    at = int(np.searchsorted(seen.steps, first.three_quarters))
    leads = np.delete(lead(group_shares(trajectory)[min(at, len(seen.steps) - 1)], 0), first.head - 1)
    note = f"{first}; the others lead on I(1) by {', '.join(f'{value:.2f}' for value in leads)}"
    return Judgement(all(ON.holds(float(value)) for value in leads), float(leads.min()), note)


def judge_elsewhere(case: Case) -> Judgement:
    """Attention outside I(1) falls in all heads alike while they compete.

    Measured: the time between the first and the last head to be half-way, over the longest time one takes itself.
    """
    trajectory = case.runs["head-dynamics"]
    seen = passage(trajectory)
    if isinstance(seen, str):
        return Judgement(None, None, seen)
    competition = judge_competition(trajectory)
    if not competition.passed:
        return Judgement(False, None, competition.note)
    until = competition_at(seen) + 1
    on_first = group_shares(trajectory)[:until, :, 0]
    times, widths = [], []
    for curve in on_first.T:
        quarter, half, three = (
            first_above(seen.steps[:until], curve, float(curve[0] + part * (curve[-1] - curve[0])))
            for part in (0.25, 0.5, 0.75)
        )
        times.append(half)
        widths.append(three - quarter)
    spread = (max(times) - min(times)) / max(*widths, 1e-12)
    note = f"half of what is elsewhere is gone at {', '.join(f'{time:.0f}' for time in times)}"
    return Judgement(ALIKE.holds(spread), float(spread), note)


def judge_handover(case: Case) -> Judgement:
    """A head that leaves loses the first feature while a head that stays gains it.

    Measured: what the leaving heads keep of the coefficient they had on A_1 during competition, the largest share.
    """
    trajectory = case.runs["head-dynamics"]
    seen = passage(trajectory)
    if isinstance(seen, str):
        return Judgement(None, None, seen)
    leaving = judge_departures(trajectory)
    if leaving.passed is not True:
        return Judgement(leaving.passed, None, leaving.note)
    at = competition_at(seen)
    values = trajectory["value_coefficient"].isel(block=0, group=0).transpose("step", "head").values
    heads = [one.head - 1 for one in departures(trajectory, seen)]
    kept = [float(values[-1, head] / values[at, head]) for head in heads]
    staying = [head for head in range(values.shape[1]) if head not in heads]
    gained = all(values[-1, head] > values[at, head] for head in staying)
    note = f"leaving heads keep {', '.join(f'{share:.2f}' for share in kept)} of their part of A_1; {leaving.note}"
    return Judgement(bool(gained and LOSES.holds(max(kept))), max(kept), note)


def judge_head_dynamics(case: Case) -> Judgement:
    """Competition, departures in order, and staying heads that move against the new feature."""
    trajectory = case.runs["head-dynamics"]
    heads = judge_heads(trajectory)
    dips = [item.deepest.depth if item.deepest else 0.0 for item in report_of(trajectory).compensation]
    shallowest = float(max(dips, default=np.nan))
    depths = ", ".join(f"{depth:.2f}" for depth in dips)
    note = f"{heads.note}; deepest dips, in units of the leaving head's gain: {depths or 'none'}"
    if heads.passed is None:
        return Judgement(None, shallowest if dips else None, note)
    passed = bool(heads.passed and len(dips) >= 2 and DIP.holds(shallowest))
    return Judgement(passed, shallowest if dips else None, note)


def _both(claim: Claim, judge: Callable[[xr.Dataset], Judgement]) -> tuple[Claim, Claim]:
    """The same claim for the minimal model and for the full decoder."""
    full = Claim(
        f"{claim.name}-full",
        claim.label.removesuffix(", minimal model"),
        f"{claim.about} (full decoder)",
        ("full",),
        quantity=claim.quantity,
        unit=claim.unit,
        threshold=claim.threshold,
        limit=claim.limit,
        concerns=claim.concerns,
        judge=lambda case: judge(case.runs["full"]),
    )
    return claim, full


CLAIMS = (
    *_both(
        Claim(
            "uniform-start",
            "fig:attention, minimal model",
            "at the start attention is uniform in all heads",
            ("minimal",),
            quantity="largest departure of a head's attention on a lag from its mean at step 0",
            unit="share of the mean",
            threshold=f"{EVEN}",
            limit=EVEN,
            judge=lambda case: judge_uniform_start(case.runs["minimal"]),
        ),
        judge_uniform_start,
    ),
    *_both(
        Claim(
            "competition",
            "fig:attention, minimal model",
            "early in training all heads put most of their attention on I(1)",
            ("minimal",),
            quantity=ON_FIRST,
            unit="ratio of shares",
            threshold=COMPETE,
            limit=ON,
            concerns=HEADS,
            judge=lambda case: judge_competition(case.runs["minimal"]),
        ),
        judge_competition,
    ),
    *_both(
        Claim(
            "offshoot",
            "fig:attention, minimal model",
            "heads leave one at a time, for I(2) and then for I(3)",
            ("minimal",),
            quantity=ONE_AT_A_TIME,
            unit="widths of a departure",
            threshold=IN_TURN,
            limit=APART,
            concerns=HEADS,
            judge=lambda case: judge_departures(case.runs["minimal"]),
        ),
        judge_departures,
    ),
    *_both(
        Claim(
            "others-stay",
            "fig:attention, minimal model",
            "when the first head has left, the others are still on I(1)",
            ("minimal",),
            quantity="smallest over the other heads of the share on I(1) over the largest other share",
            unit="ratio of shares",
            threshold=f"{ON} when the first head is three quarters of its way to I(2)",
            limit=ON,
            concerns=HEADS,
            judge=lambda case: judge_others_stay(case.runs["minimal"]),
        ),
        judge_others_stay,
    ),
    *_both(
        Claim(
            "specialisation",
            "fig:attention, minimal model",
            "at the end each head copies a different group",
            ("minimal",),
            quantity="smallest share of a head on its own group at the end",
            unit="share of attention",
            threshold=SPECIALISED,
            judge=lambda case: judge_specialisation(case.runs["minimal"]),
        ),
        judge_specialisation,
    ),
    Claim(
        "extra-heads",
        "sec:minimal",
        "with four heads for three groups the phases are the same",
        ("heads-4",),
        quantity="smallest over groups of the largest share a head gives it at the end",
        unit="share of attention",
        threshold=f"{IN_TURN}; at the end every group has a head with a share {MOST} on it",
        limit=MOST,
        concerns=HEADS,
        judge=judge_extra_heads,
    ),
    Claim(
        "diagonal",
        "fig:attention, caption",
        "lag 1 gets less attention than the rest of I(1) because of the skip connection",
        ("windows", "no-residual"),
        quantity="attention on lag 1 over the mean of the other lags of I(1), head most on I(1)",
        unit="ratio of shares",
        threshold=f"{DIAGONAL} with residual connections, {DIAGONAL.opposite} without",
        limit=DIAGONAL,
        judge=judge_diagonal,
    ),
    Claim(
        "elsewhere",
        "app:simulations:transformer",
        "while heads compete, attention elsewhere falls in all of them alike",
        ("head-dynamics",),
        quantity="time between the first and the last head to lose half of it",
        unit="widths of that fall in one head",
        threshold=f"{ALIKE}, and {COMPETE}",
        limit=ALIKE,
        concerns=HEADS,
        judge=judge_elsewhere,
    ),
    Claim(
        "handover",
        "fig:collaboration, values",
        "a head that leaves loses the first feature as a staying one grows into it",
        ("head-dynamics",),
        quantity="what a leaving head keeps of its part of A_1, the largest",
        unit="share of its coefficient during competition",
        threshold=f"{LOSES} for every leaving head, while the staying ones gain; and {IN_TURN}",
        limit=LOSES,
        concerns=HEADS,
        judge=judge_handover,
    ),
    Claim(
        "head-dynamics",
        "fig:collaboration",
        "the minimal transformer shows the flow's signatures: competition, order, compensation",
        ("head-dynamics",),
        quantity="shallower of the deepest dips per departure",
        unit="the leaving head's gain",
        threshold=f"{IN_TURN}; and a staying head dips by {DIP} at both departures",
        limit=DIP,
        concerns=HEADS,
        judge=judge_head_dynamics,
    ),
)
