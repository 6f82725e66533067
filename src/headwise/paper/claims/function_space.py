"""Stages in function space (§2.3, Fig. kl) and the joint acquisition of pattern and feature."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from headwise.core.predictors import predictor_label
from headwise.paper.acquisition import acquisitions, still_coming
from headwise.paper.entry import FUNCTION, Claim
from headwise.paper.head_stages import APART
from headwise.paper.limit import Limit
from headwise.paper.stages import IN_STAGES, NEARER, NEAREST_RATIO, judge_stages, passage
from headwise.paper.verdict import Judgement

if TYPE_CHECKING:
    import xarray as xr

TOGETHER = Limit("<=", 0.25)
LOW = Limit("<=", 0.1)
STAYS = Limit("<=", 0.05)


def judge_joint(trajectory: xr.Dataset) -> Judgement:
    """Half-way times of attention and of the feature, for every group, against the time to the next acquisition."""
    found = acquisitions(trajectory)
    note = "; ".join(str(one) for one in found) or "no group is acquired"
    if len(found) < trajectory.sizes["group"]:
        unfinished = bool(found) and still_coming(trajectory, found)
        return Judgement(None if unfinished else False, None, f"only {len(found)} groups are acquired: {note}")
    times = np.array([one.attention for one in found])
    gaps = np.diff(times)
    widths = [max(a.width, b.width) for a, b in itertools.pairwise(found)]
    if not all(APART.holds(float(gap) / max(width, 1e-12)) for gap, width in zip(gaps, widths, strict=True)):
        return Judgement(False, None, f"groups are not acquired one after the other: {note}")
    nearest = np.minimum(np.append(gaps, gaps[-1]), np.insert(gaps, 0, gaps[0]))
    shares = [abs(one.attention - one.value) / gap for one, gap in zip(found, nearest, strict=True)]
    return Judgement(TOGETHER.holds(max(shares)), float(max(shares)), note)


def judge_last_curve(trajectory: xr.Dataset) -> Judgement:
    """The distance to the law at the end, and how far it is above its smallest, as shares of the first one."""
    seen = passage(trajectory)
    if isinstance(seen, str):
        return Judgement(None, None, seen)
    curve = seen.curves[:, -1] / seen.curves[0, -1]
    end, above = float(curve[-1]), float(curve[-1] - curve.min())
    note = f"KL to the law falls from {seen.curves[0, -1]:.2f} to {seen.curves[-1, -1]:.3f} nats"
    return Judgement(LOW.holds(end) and STAYS.holds(above), end, note)


def _in_stages(name: str, label: str, about: str, experiment: str) -> Claim:
    return Claim(
        name,
        label,
        about,
        (experiment,),
        quantity=NEAREST_RATIO,
        unit="ratio of KL divergences",
        threshold=IN_STAGES,
        limit=NEARER,
        concerns=FUNCTION,
        judge=lambda case: judge_stages(case.runs[experiment]),
    )


def _joint(name: str, label: str, about: str, experiment: str) -> Claim:
    return Claim(
        name,
        label,
        about,
        (experiment,),
        quantity="largest gap between half-way times of attention and feature of a group",
        unit="share of the time to the nearest other acquisition",
        threshold=f"{TOGETHER} for every group, and acquisitions {APART} width apart",
        limit=TOGETHER,
        concerns=FUNCTION | {"heads"},
        judge=lambda case: judge_joint(case.runs[experiment]),
    )


def _last(name: str, label: str, about: str, experiment: str) -> Claim:
    return Claim(
        name,
        label,
        about,
        (experiment,),
        quantity="KL to the law at the end",
        unit="share of its first value",
        threshold=f"{LOW}, and {STAYS} above its smallest",
        limit=LOW,
        judge=lambda case: judge_last_curve(case.runs[experiment]),
    )


PASSES = "the model passes {}, then {}, and ends at {}".format(*(predictor_label(f"prefix_{k}") for k in (1, 2, 3)))

CLAIMS = (
    _in_stages("order", "fig:kl left, minimal model", PASSES, "minimal"),
    _in_stages("order-full", "fig:kl left", "the same for the full decoder", "full"),
    _last("last-curve", "fig:kl, minimal model", "the distance to the full predictor falls and stays low", "minimal"),
    _last("last-curve-full", "fig:kl", "the same for the full decoder", "full"),
    _joint("joint", "sec:incremental, minimal model", "each pattern is acquired with its feature matrix", "minimal"),
    _joint("joint-full", "sec:incremental", "the same for the full decoder", "full"),
)
