"""What the gradient flow of §3 does under the same interventions, to stand beside what the transformer does.

Times are its own: an intervention comes as large a share of the waiting time before or after the offshoot as it does in
training. No claim is judged by the flow.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from headwise.actions.on_flow import branch_flow
from headwise.flow.config import FlowConfig, feature_strengths
from headwise.flow.simulate import simulate
from headwise.paper.causal.competition import SIZES
from headwise.paper.causal.readings import Taking, excess_at, first_taking, next_taking, takings

if TYPE_CHECKING:
    import xarray as xr

CONFIG = FlowConfig(t_end=1500.0, points=1500, grid="linear")
FOUR_HEADS = CONFIG.changed({"heads": 4})
AHEAD = 0.15
"""Share of the waiting time before the offshoot at which an intervention begins; about 50 of 350 steps in training."""

ON_PLATEAU = 0.35
"""Share of the waiting time after which heads are tied and norms exchanged; step 200 of a plateau from 80 to 420."""

TIED_FOR = 1.5
"""Waiting times for which heads stay tied; about 500 of 350 steps in training."""

SETTLED = 0.45
"""Share of the waiting time after the offshoot at which the head that left is ablated; about 150 of 350 steps."""

RELEASED_AT = 700.0
CLAMPED_FOR, LONG = 150.0, 6000.0
"""In training 100 steps after the end at 1000, and 4000 steps."""


@functools.cache
def _flow(config: FlowConfig, seed: int) -> xr.Dataset:
    return simulate(config, seed)


def _if_one_leaves(config: FlowConfig) -> Callable[[Callable[[int, Taking, Taking], str]], Callable[[int], str]]:
    """Give what is said about a flow the taking of group 1 and that of group 2; where no head leaves, say that."""

    def decorate(say: Callable[[int, Taking, Taking], str]) -> Callable[[int], str]:
        @functools.wraps(say)
        def said(seed: int) -> str:
            trajectory = _flow(config, seed)
            learned, left = first_taking(trajectory, 1), first_taking(trajectory, 2)
            return "no head leaves" if learned is None or left is None else say(seed, learned, left)

        return said

    return decorate


def _said(taken: Taking | None) -> str:
    return (
        f"none until {CONFIG.t_end:g}"
        if taken is None
        else f"head {taken.head} takes group {taken.group} at {taken.step}"
    )


@_if_one_leaves(CONFIG)
def flow_noise(seed: int, learned: Taking, left: Taking) -> str:
    """The leaving head held: which other head leaves, and when."""
    at = left.step - AHEAD * (left.step - learned.step)
    held = branch_flow(CONFIG, at, do=[f"freeze:heads={left.head}"], seed=seed)
    instead = first_taking(held, 2, after=int(at), but=[left.head])
    if instead is None:
        return f"head {left.head} at {left.step}; held from {at:.0f}, none until {CONFIG.t_end:g}"
    change = abs(instead.step - left.step) / (left.step - learned.step)
    return (
        f"head {left.head} at {left.step}; held from {at:.0f}, head {instead.head} at {instead.step}, "
        f"a change of {change:.2f} of the waiting time"
    )


@_if_one_leaves(CONFIG)
def flow_compensation(seed: int, learned: Taking, left: Taking) -> str:
    """The values of the heads that stay held through the offshoot: how the loss and its time change."""
    wait = AHEAD * (left.step - learned.step)
    at, until = left.step - wait, left.step + wait
    others = ",".join(str(head) for head in (1, 2, 3) if head != left.head)
    held = branch_flow(CONFIG, at, do=[f"freeze:heads={others}:part=values"], until=until, seed=seed)
    later = first_taking(held, 2, after=int(at))
    more = excess_at(held, int(until)) - excess_at(_flow(CONFIG, seed), int(until))
    when = "at no time" if later is None else f"at {later.step}"
    return f"excess loss at {until:.0f}: {more:+.4f}; group 2 is taken up {when}, in the flow at {left.step}"


def flow_late(seed: int) -> str:
    """Head 3 held from the beginning and released: what it takes."""
    late = branch_flow(CONFIG, 0.0, do=["freeze:heads=3"], until=RELEASED_AT, seed=seed)
    before = sorted({t.group for t in takings(late) if t.head != 3 and t.step <= RELEASED_AT and t.group > 1})
    taken = [t for t in takings(late, after=int(RELEASED_AT)) if t.head == 3]
    said = ", ".join(f"group {t.group} at {t.step}" for t in taken) or f"none until {CONFIG.t_end:g}"
    return f"held at {RELEASED_AT:g}: group 1 and {before}; head 3 then takes {said}"


@_if_one_leaves(CONFIG)
def flow_symmetry(seed: int, learned: Taking, left: Taking) -> str:
    """All heads tied on the plateau, then freed with noise of several sizes: how long until one leaves."""
    wait = left.step - learned.step
    at = learned.step + ON_PLATEAU * wait
    until = at + TIED_FOR * wait
    waits: list[float] = []
    early: Taking | None = None
    for size in SIZES:
        freed = branch_flow(
            CONFIG, at, do=["tie"], until=until, then=[f"perturb:heads=1:part=attention:size={size}"], seed=seed
        )
        while_tied = freed.isel(step=freed["step"].values <= until)
        early = early or first_taking(while_tied, 2, after=int(at))
        taken = first_taking(freed, 2, after=int(until))
        waits.append(math.nan if taken is None else taken.step - until)
    note = f"tied from {at:.0f} to {until:.0f} (it leaves at {left.step}), {_said(early) if early else 'none leaves'}; "
    after = [f"none until {CONFIG.t_end:g}" if math.isnan(wait) else f"{wait:.0f}" for wait in waits]
    note += "freed with " + ", ".join(f"{size:g}: {said}" for size, said in zip(SIZES, after, strict=True))
    if any(map(math.isnan, waits)):
        return note
    logs = np.array([math.log(1 / size) for size in SIZES])
    fits = [float(np.corrcoef(x, waits)[0, 1] ** 2) for x in (logs**2, logs)]
    return f"{note}; R² {fits[0]:.3f} against log²(1/σ), {fits[1]:.3f} against log(1/σ)"


@_if_one_leaves(CONFIG)
def flow_order(seed: int, learned: Taking, left: Taking) -> str:
    """The strengths of features 2 and 3 exchanged on the plateau: where the next head goes."""
    at = learned.step + ON_PLATEAU * (left.step - learned.step)
    first, second, third = feature_strengths(CONFIG)
    other = next_taking(branch_flow(CONFIG, at, strengths=(first, third, second), seed=seed), after=int(at))
    return f"exchanged at {at:.0f}, next: {_said(other)}; in the flow: {_said(left)}"


@_if_one_leaves(FOUR_HEADS)
def flow_kept(seed: int, learned: Taking, left: Taking) -> str:
    """With four heads, that of group 2 ablated: who takes it up, and how long that takes."""
    wait = left.step - learned.step
    at = left.step + SETTLED * wait
    gone = branch_flow(FOUR_HEADS, at, do=[f"ablate:heads={left.head}"], seed=seed)
    again = first_taking(gone, 2, after=int(at), but=[left.head])
    said = f"head {left.head} took it up at {left.step}, ablated at {at:.0f}; then {_said(again)}"
    return said if again is None else f"{said}, {(again.step - at) / wait:.2f} of the first time"


def flow_sparsity(seed: int) -> str:
    """Specialised heads clamped to their ideal patterns: the gain, and what running on brings."""
    parent = _flow(CONFIG, seed)
    last = CONFIG.t_end
    shares = parent["attention_by_group"].isel(block=0, step=-1).transpose("head", "group").values
    actions = [
        f"clamp:heads={head + 1}:to=group{int(of_head.argmax()) + 1}"
        for head, of_head in enumerate(shares)
        if of_head.max() > 0.5
    ]
    longer = _flow(CONFIG.changed({"t_end": LONG}), seed)
    clamped = branch_flow(CONFIG.changed({"t_end": last + CLAMPED_FOR}), last, do=actions, seed=seed)
    before = excess_at(parent, int(last))
    gained, brought = (before - float(after["excess_loss"].values[-1]) for after in (clamped, longer))
    return (
        f"excess loss {before:.6f} at {last:g}: {len(actions)} heads clamped {gained:+.6f} after {CLAMPED_FOR:g}, "
        f"running on to {LONG:g} {brought:+.6f} (gains are positive)"
    )


BESIDE: dict[str, Callable[[int], str]] = {
    "noise-decides": flow_noise,
    "symmetry-barrier": flow_symmetry,
    "compensation-matters": flow_compensation,
    "order-needs-importance": flow_order,
    "kept": flow_kept,
    "late-start": flow_late,
    "sparsity-is-free": flow_sparsity,
}
"""By the name of the claim."""
