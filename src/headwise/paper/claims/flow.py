"""The regression flow (App. D): its stages, the compensation of staying heads, and theory over simulation."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwise.paper.entry import Case, Claim
from headwise.paper.flows import OVERLAID, flow_config, solved
from headwise.paper.limit import Limit
from headwise.paper.verdict import Judgement

if TYPE_CHECKING:
    from headwise.flow.simulate import SolvedFlow

DIP = Limit("<", -0.02)
EPSILONS = (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1)
TRACKS = Limit("<=", 0.1)
LONGER, POINTS = 2.5, 200
"""How many times longer than the compared window a theory is followed, so that its clock can be set, and in how many
points the window is compared."""


def judge_stages(case: Case) -> Judgement:
    """Positions 1, 2, 3 in this order, each stage longer than the one before; measured: the time of the third."""
    from headwise.flow.stages import stage_features, stage_times

    flow = solved(flow_config(case.preset), case.seed)
    times = stage_times(flow.target, flow.heads_at, flow.solution)
    features = stage_features(flow.target, flow.heads_at, flow.solution, times)
    if any(time is None for time in times):
        return Judgement(False, None, f"stage times {times}: not all reached by t = {flow.config.t_end:g}")
    reached = [time for time in times if time is not None]
    lengths = [b - a for a, b in zip([0.0, *reached[:-1]], reached, strict=True)]
    slower = all(a < b for a, b in itertools.pairwise(lengths))
    in_order = features == list(range(1, len(features) + 1))
    note = "the loss crosses its levels at " + ", ".join(
        f"{time:.1f} (position {feature})" for time, feature in zip(reached, features, strict=True)
    )
    return Judgement(slower and in_order, reached[-1], note)


def judge_compensation(case: Case) -> Judgement:
    """For each new feature the most negative alignment of a head that does not learn it; measured: the shallower."""
    from headwise.flow.simulate import summarise

    flow = solved(flow_config(case.preset), case.seed)
    summary = summarise(flow, case.seed)
    deepest: dict[int, float] = {}
    for dip in summary["dips"]:
        deepest[dip["group"]] = min(dip["value"], deepest.get(dip["group"], 0.0))
    values = [deepest.get(offshoot["to"], 0.0) for offshoot in summary["offshoots"]]
    if not values:
        return Judgement(None, None, "no head leaves: nothing to compensate")
    note = "deepest alignment of a staying head with " + ", ".join(
        f"feature {o['to']}: {v:.2f}" for o, v in zip(summary["offshoots"], values, strict=True)
    )
    if len(values) < len(flow.target.strengths) - 1:
        return Judgement(False, max(values), f"only {len(values)} offshoot; {note}")
    return Judgement(DIP.holds(max(values)), max(values), note)


def judge_theory(case: Case) -> Judgement:
    """The theory as printed, from the printed t = 25 and t = 300, in attention and in values, for the best ε.

    Each difference is the median over time of the largest over heads, attention in shares of all attention and values
    in shares of m_1*; measured: the larger of the two at the worse stage. The second stage is compared up to the
    printed start of the third, the third up to twice the time at which the flow learns it. The note says as well how
    near the theory comes with its clock set by the flow's, and how near the two-group model is.
    """
    return _theory(case.seed)


@functools.lru_cache(maxsize=16)
def _theory(seed: int) -> Judgement:
    """All readings share this flow: the one whose stages fit the printed times."""
    from headwise.flow.overlay import STAGE_STARTS, overlay
    from headwise.flow.stages import stage_times

    flow = solved(OVERLAID, seed)
    times = stage_times(flow.target, flow.heads_at, flow.solution)
    if times[1] is None or times[2] is None:
        return Judgement(None, None, f"the flow does not reach three stages by t = {OVERLAID.t_end:g}")
    ends = (STAGE_STARTS[1], max(2 * times[2], 2 * STAGE_STARTS[1]))
    worst, lines = 0.0, []
    for stage, start, end in zip((2, 3), STAGE_STARTS, ends, strict=True):
        moving = overlay(flow, stage=stage, start=start, end=end, theory="two-group")
        if moving is None:
            return Judgement(None, None, f"no head leaves at stage {stage}")
        printed, aligned = _nearest(flow, stage=stage, start=start, end=end)
        worst = max(worst, printed.far)
        lines.append(f"stage {stage} at the printed times: {printed}")
        lines.append(f"clocks set alike: {'never half of the window in common' if aligned is None else aligned}")
        lines.append(f"two-group model: {Difference(*moving.median_deviations, float(flow.target.strengths[0]))}")
    return Judgement(TRACKS.holds(worst), worst, "; ".join(lines))


@dataclass(frozen=True)
class Difference:
    """How far a theory is from the flow; `strongest` is m_1*, `how` says how it was started."""

    attention: float
    value: float
    strongest: float
    how: str = ""

    @property
    def far(self) -> float:
        """The larger of the two, in shares."""
        return max(self.attention, self.value / self.strongest)

    def __str__(self) -> str:
        how = f" ({self.how})" if self.how else ""
        return f"attention off by {self.attention:.3f}, values by {self.value / self.strongest:.3f} m_1*{how}"


def _nearest(flow: SolvedFlow, *, stage: int, start: float, end: float) -> tuple[Difference, Difference | None]:
    """The printed theory for its best ε: at the printed times, and with its clock set by the flow's."""
    from headwise.flow.alignment import aligned_deviations
    from headwise.flow.overlay import overlay

    strengths = [float(strength) for strength in flow.target.strengths]
    until = min(start + LONGER * (end - start), OVERLAID.t_end)
    points = int(POINTS * (until - start) / (end - start))
    printed, shifted = [], []
    for epsilon in EPSILONS:
        followed = overlay(flow, stage=stage, start=start, end=until, theory="printed", epsilon=epsilon, points=points)
        assert followed is not None
        aligned = aligned_deviations(followed, strength=strengths[stage - 1], until=end)
        printed.append(Difference(*followed.until(end).median_deviations, strengths[0], f"ε = {epsilon:g}"))
        if aligned is not None:
            how = f"ε = {epsilon:g}, shifted by {aligned.shift:.0f}"
            shifted.append(Difference(aligned.attention, aligned.value, strengths[0], how))
    return min(printed, key=lambda one: one.far), min(shifted, key=lambda one: one.far, default=None)


CLAIMS = (
    Claim(
        "flow-stages",
        "fig:simulations",
        "the regression flow learns position 1, then 2, then 3, each more slowly",
        quantity="time of the third stage",
        unit="time of the flow",
        threshold="all three levels crossed, by positions 1, 2, 3 in this order, each stage longer than the one before",
        published=230.0,
        judge=judge_stages,
    ),
    Claim(
        "flow-compensation",
        "fig:simulations",
        "heads that stay dip below zero on the new feature",
        quantity="shallower of the deepest dips at the two offshoots",
        unit="feature of unit norm",
        threshold=f"{DIP} at both offshoots",
        limit=DIP,
        judge=judge_compensation,
    ),
    Claim(
        "flow-theory",
        "fig:theory_vs_regression",
        "the simplified systems, started at t = 25 and t = 300, trace attention and values of the full flow",
        quantity="median over time of the largest difference, in attention or in values, for the best ε",
        unit="share of attention, or of m_1*",
        threshold=f"{TRACKS} in attention and in values over m_1*, at both stages",
        limit=TRACKS,
        judge=judge_theory,
    ),
)
