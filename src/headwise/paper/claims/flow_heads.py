"""What heads of the regression flow do (§3.3, App. D): all on position 1 first, who loses what, and what moves first.

Times are read against the stages of the flow itself: t_1, t_2, t_3 are when the loss crosses the midpoints between its
plateaus, and the middle of two stages is their geometric mean, because each stage takes several times as long as the
one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headwise.paper.entry import Case, Claim
from headwise.paper.flows import flow_config, solved
from headwise.paper.limit import Limit
from headwise.paper.verdict import Judgement

if TYPE_CHECKING:
    from headwise.core.events import Offshoot
    from headwise.flow.simplex import Array
    from headwise.flow.simulate import SolvedFlow

LEADS = Limit(">", 2)
TOGETHER = Limit("<", 0.25)
LOSES = Limit(">", 0.5)
CANCELLED = Limit("<", 0.25)
HALF = 0.5
POINTS = 2000


@dataclass(frozen=True)
class Staged:
    """A flow whose stages were all reached: their times, who left, and the middles between stages."""

    flow: SolvedFlow
    times: list[float]
    left: list[Offshoot]

    @property
    def middle(self) -> float:
        """Between the first and the second stage, when the first is over and nobody has left yet."""
        return float(np.sqrt(self.times[0] * self.times[1]))

    def window(self, stage: int) -> Array:
        """Times around the learning of a later feature (from 2): from the middle before it to the middle after it.

        After the last stage there is no further one; the window ends as far behind it, in ratios, as it begins before.
        """
        before, at = self.times[stage - 2], self.times[stage - 1]
        after = self.times[stage] if stage < len(self.times) else at * at / before
        end = min(float(np.sqrt(at * after)), float(self.flow.solution.steps[-1]))
        return np.geomspace(np.sqrt(before * at), end, POINTS)


def staged(case: Case) -> Staged | Judgement:
    """The flow of a reading, or why it cannot be read."""
    from headwise.flow.stages import offshoots, stage_times

    flow = solved(flow_config(case.preset), case.seed)
    times = stage_times(flow.target, flow.heads_at, flow.solution)
    reached = [time for time in times if time is not None]
    if len(reached) < len(times):
        return Judgement(None, None, f"stage times {times}: not all reached by t = {flow.config.t_end:g}")
    left = offshoots(flow.heads_at, flow.solution, times)
    return Staged(flow, reached, left)


def judge_competition(case: Case) -> Judgement:
    """In the middle of stages 1 and 2: each head's attention on position 1 over that on any other position."""
    found = staged(case)
    if isinstance(found, Judgement):
        return found
    attention = found.flow.heads(np.array([found.middle])).attention[0]
    ratios = attention[:, 0] / attention[:, 1:].max(-1)
    note = f"at t = {found.middle:.1f} position 1 has " + ", ".join(
        f"{own:.2f} ({ratio:.1f} times any other)" for own, ratio in zip(attention[:, 0], ratios, strict=True)
    )
    return Judgement(LEADS.holds(float(ratios.min())), float(ratios.min()), note)


def judge_decay(case: Case) -> Judgement:
    """When attention off position 1 is halved in each head, before any has left; measured: the spread of these times.

    It is given as a share of the time between the first and the second stage.
    """
    found = staged(case)
    if isinstance(found, Judgement):
        return found
    times = np.linspace(0.0, found.times[1], POINTS)
    elsewhere = 1 - found.flow.heads(times).attention[:, :, 0]
    halved = [first_time(times, row <= HALF * row[0]) for row in elsewhere.T]
    if any(time is None for time in halved):
        never = [head + 1 for head, time in enumerate(halved) if time is None]
        return Judgement(False, None, f"attention elsewhere is never halved before t_2 in head {never}")
    moments = [time for time in halved if time is not None]
    spread = (max(moments) - min(moments)) / (found.times[1] - found.times[0])
    note = "attention elsewhere is halved at t = " + ", ".join(f"{time:.1f}" for time in moments)
    return Judgement(TOGETHER.holds(spread), spread, f"{note}; t_1 = {found.times[0]:.1f}, t_2 = {found.times[1]:.1f}")


def judge_exchange(case: Case) -> Judgement:
    """Around each offshoot: how much of feature 1 the leaver loses; the heads that stay must take up half of it.

    A head's part is what it delivers, attention on position 1 times ⟨V_k, V_1*⟩. Measured: the smaller loss of the
    offshoots, over what the leaver had. One that had less than half of an equal part had nothing to lose.
    """
    found = staged(case)
    if isinstance(found, Judgement):
        return found
    losses, lines = [], []
    exchanged = True
    gone: set[int] = set()
    strongest = float(found.flow.target.strengths[0])
    for offshoot in found.left:
        heads = found.flow.heads(found.window(int(offshoot.target)))
        delivered, leaver = heads.delivered[:, :, 0], offshoot.head - 1
        gone.add(leaver)
        staying = [head for head in range(delivered.shape[1]) if head not in gone]
        own, others = delivered[:, leaver], delivered[:, staying].sum(-1)
        lost = 1 - float(own[-1] / own[0]) if own[0] > 0 else 0.0
        losses.append(lost)
        had = float(own[0]) >= HALF * strongest / (len(staying) + 1)
        exchanged = exchanged and had and float(others[-1] - others[0]) >= HALF * float(own[0] - own[-1])
        lines.append(
            f"head {offshoot.head} goes from {own[0]:.2f} to {own[-1]:.2f} of feature 1, the staying ones from "
            f"{others[0]:.2f} to {others[-1]:.2f}"
        )
    if not losses:
        return Judgement(None, None, "no head leaves")
    return Judgement(exchanged and LOSES.holds(min(losses)), min(losses), "; ".join(lines))


def judge_values_first(case: Case) -> Judgement:
    """Does ⟨V', V_n*⟩ rise before ⟨s', s_n*⟩, and do the other heads cancel what V' adds at position 1 meanwhile?

    Both are timed at half of their value at the end of the stage. At the moment of V' the feature's sum over all heads
    at position 1, where it does not belong, is compared with the leaver's own part of it; measured: the larger share
    that is left of the two offshoots.
    """
    found = staged(case)
    if isinstance(found, Judgement):
        return found
    rests, lines = [], []
    earlier = True
    for offshoot in found.left:
        n, leaver = int(offshoot.target) - 1, offshoot.head - 1
        times = found.window(int(offshoot.target))
        heads = found.flow.heads(times)
        value, own = heads.alignment[:, leaver, n], heads.group_attention[:, leaver, n]
        moved, looked = (first_time(times, curve >= HALF * curve[-1]) for curve in (value, own))
        if moved is None or looked is None:
            return Judgement(None, None, f"head {offshoot.head} does not take up feature {offshoot.target}")
        earlier = earlier and moved < looked
        then = found.flow.heads(np.array([moved]))
        parts = then.alignment[0, :, n] * then.attention[0, :, 0]
        rests.append(float(abs(parts.sum()) / abs(parts[leaver])))
        lines.append(
            f"feature {offshoot.target}: V' half-way at t = {moved:.1f}, s' at {looked:.1f}; at position 1 head "
            f"{offshoot.head} adds {parts[leaver]:.2f} and all together {parts.sum():.2f}"
        )
    if not rests:
        return Judgement(None, None, "no head leaves")
    return Judgement(earlier and CANCELLED.holds(max(rests)), max(rests), "; ".join(lines))


def first_time(times: Array, reached: np.ndarray) -> float | None:
    """The first time at which something is so."""
    found = np.flatnonzero(reached)
    return float(times[found[0]]) if len(found) else None


CLAIMS = (
    Claim(
        "flow-competition",
        "app:simulations",
        "at first all heads of the flow learn from position 1",
        quantity="smallest ratio over heads of attention on position 1 to that on any other, between stages 1 and 2",
        unit="ratio of attention",
        threshold=f"{LEADS} in every head",
        limit=LEADS,
        judge=judge_competition,
    ),
    Claim(
        "flow-decay",
        "app:simulations:transformer",
        "attention to the other positions decays in all heads of the flow at the same time",
        quantity="spread over heads of the time at which it is halved",
        unit="t_2 − t_1",
        threshold=f"halved in every head before t_2, and the spread {TOGETHER}",
        limit=TOGETHER,
        judge=judge_decay,
    ),
    Claim(
        "flow-exchange",
        "fig:collaboration, sec:cooperative",
        "a head that leaves loses the first feature while others grow into it",
        quantity="how much of feature 1 a leaving head loses in its stage, the smaller of two offshoots",
        unit="its part before it leaves",
        threshold=f"{LOSES}, of at least half of an equal part; the heads that stay gain half of the loss or more",
        limit=LOSES,
        judge=judge_exchange,
    ),
    Claim(
        "flow-values-first",
        "sec:cooperative",
        "V' moves before s', and the ensemble cancels what it adds at position 1",
        quantity="what is left at position 1 of the leaver's new feature when V' is half-way",
        unit="the leaver's own part",
        threshold=f"V' half-way before s' at both offshoots, and {CANCELLED}",
        limit=CANCELLED,
        judge=judge_values_first,
    ),
)
