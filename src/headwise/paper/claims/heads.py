"""What heads do (§2.3, Fig. attention): compete for I(1), leave one at a time, end on different groups."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headwise.paper.entry import Case, Claim
from headwise.paper.limit import Limit
from headwise.paper.quantities import group_shares, groups_of, report_of
from headwise.paper.verdict import Judgement

MAJORITY = Limit(">", 0.5)
SPECIALISED = Limit(">", 0.4)
DIP = Limit("<=", -0.05)
DIAGONAL = Limit("<", 0.8)


def judge_competition(trajectory: xr.Dataset) -> Judgement:
    """At some moment of the detected competitive phase every head has most of its attention on I(1).

    Where no phase lasts long enough to be one, the clearest moment of the run is measured, and does not pass.
    """
    phase = report_of(trajectory).competitive
    steps = trajectory["step"].values
    weakest = group_shares(trajectory)[:, :, 0].min(1)
    if phase is None:
        at = int(weakest.argmax())
        note = f"no phase in which all heads copy one pattern; at step {steps[at]:g} each has {weakest[at]:.2f} on I(1)"
        return Judgement(False, float(weakest[at]), note)
    inside = (steps >= phase.start) & (steps <= phase.end)
    steps, weakest = steps[inside], weakest[inside]
    at = steps[weakest.argmax()]
    note = f"competitive from step {phase.start:.0f} to {phase.end:.0f}, clearest at {at:g}"
    return Judgement(MAJORITY.holds(weakest.max()), float(weakest.max()), note)


def judge_offshoots(trajectory: xr.Dataset) -> Judgement:
    """One head leaves for I(2), later another for I(3); a fourth head may follow either. Measured: the first step."""
    offshoots = report_of(trajectory).offshoots
    first: dict[object, tuple[float, int]] = {}
    for offshoot in offshoots:
        first.setdefault(offshoot.target, (offshoot.step, offshoot.head))
    note = "; ".join(f"head {o.head} to I({o.target}) at {o.step:.0f}" for o in offshoots) or "no head leaves"
    if not offshoots:
        return Judgement(False, None, note)
    two, three = first.get(2), first.get(3)
    passed = two is not None and three is not None and two[0] < three[0] and two[1] != three[1]
    return Judgement(passed, two[0] if two else None, note)


def judge_specialisation(trajectory: xr.Dataset) -> Judgement:
    """At the end the heads' largest groups are all different and each has a large share; measured: the smallest."""
    shares = group_shares(trajectory)[-1]
    largest = shares.argmax(1)
    own = shares.max(1)
    note = "; ".join(f"head {h + 1} on I({k + 1}) {own[h]:.2f}" for h, k in enumerate(largest))
    covered = len(set(largest.tolist())) == min(shares.shape)
    return Judgement(covered and SPECIALISED.holds(own.min()), float(own.min()), note)


def judge_extra_heads(case: Case) -> Judgement:
    """Competition and offshoots as with three heads; at the end every group is the largest of some head."""
    trajectory = case.runs["heads-4"]
    competition, offshoot = judge_competition(trajectory), judge_offshoots(trajectory)
    shares = group_shares(trajectory)[-1]
    covered = set(shares.argmax(1).tolist()) == set(range(shares.shape[1]))
    best = float(shares.max(0).min())
    passed = bool(competition.passed and offshoot.passed and covered and SPECIALISED.holds(best))
    return Judgement(passed, best, f"{competition.note}; {offshoot.note}")


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


def judge_head_dynamics(case: Case) -> Judgement:
    """Competition, offshoots in order, and staying heads that move against the new feature."""
    trajectory = case.runs["head-dynamics"]
    competition, offshoot = judge_competition(trajectory), judge_offshoots(trajectory)
    dips = [item.deepest.depth if item.deepest else 0.0 for item in report_of(trajectory).compensation]
    shallowest = float(max(dips, default=np.nan))
    passed = bool(competition.passed and offshoot.passed and len(dips) >= 2 and DIP.holds(shallowest))
    depths = ", ".join(f"{depth:.2f}" for depth in dips)
    note = f"{offshoot.note}; deepest dips, in units of the leaving head's gain: {depths or 'none'}"
    return Judgement(passed, shallowest if dips else None, note)


def _pair(claim: Claim, *, label: str, published: float | None) -> tuple[Claim, Claim]:
    """The same claim for the minimal model and for the full decoder."""
    return claim, Claim(
        f"{claim.name}-full",
        label,
        f"{claim.about} (full decoder)",
        ("full",),
        quantity=claim.quantity,
        threshold=claim.threshold,
        limit=claim.limit,
        published=published,
        judge=lambda case: claim.judge(Case(case.preset, case.scale, case.seed, {"minimal": case.runs["full"]})),
    )


CLAIMS = (
    *_pair(
        Claim(
            "competition",
            "fig:attention, minimal model",
            "early in training all heads put most of their attention on I(1)",
            ("minimal",),
            quantity="smallest share of a head on I(1) when competition is clearest",
            threshold=f"{MAJORITY} within the detected competitive phase",
            limit=MAJORITY,
            judge=lambda case: judge_competition(case.runs["minimal"]),
        ),
        label="fig:attention",
        published=None,
    ),
    *_pair(
        Claim(
            "offshoot",
            "fig:attention, minimal model",
            "heads leave one at a time, for I(2) and then for I(3)",
            ("minimal",),
            quantity="step of the first offshoot",
            threshold="one head leaves for I(2), another later for I(3)",
            published=330.0,
            judge=lambda case: judge_offshoots(case.runs["minimal"]),
        ),
        label="fig:attention",
        published=65.0,
    ),
    *_pair(
        Claim(
            "specialisation",
            "fig:attention, minimal model",
            "at the end each head copies a different group",
            ("minimal",),
            quantity="smallest share of a head on its own group at the end",
            threshold=f"largest groups all different, each share {SPECIALISED}",
            limit=SPECIALISED,
            judge=lambda case: judge_specialisation(case.runs["minimal"]),
        ),
        label="fig:attention",
        published=None,
    ),
    Claim(
        "extra-heads",
        "sec:minimal",
        "with four heads for three groups the phases are the same",
        ("heads-4",),
        quantity="smallest over groups of the largest share a head gives it at the end",
        threshold="competition and offshoots as with three heads, "
        f"every group the largest of some head, share {SPECIALISED}",
        limit=SPECIALISED,
        judge=judge_extra_heads,
    ),
    Claim(
        "diagonal",
        "fig:attention, caption",
        "lag 1 gets less attention than the rest of I(1) because of the skip connection",
        ("windows", "no-residual"),
        quantity="attention on lag 1 over the mean of the other lags of I(1), head most on I(1)",
        threshold=f"{DIAGONAL} with residual connections, {DIAGONAL.opposite} without",
        limit=DIAGONAL,
        judge=judge_diagonal,
    ),
    Claim(
        "head-dynamics",
        "fig:collaboration",
        "the minimal transformer shows the flow's signatures: competition, order, compensation",
        ("head-dynamics",),
        quantity="shallower of the deepest dips per offshoot, in units of the leaving head's gain",
        threshold=f"competition and offshoots hold, and a staying head dips by {DIP} at both offshoots",
        limit=DIP,
        judge=judge_head_dynamics,
    ),
)
