"""What the gradient flow of §3 does under the same interventions, to stand beside what the transformer does.

Only claims whose intervention sets or holds the state of a head are asked of the flow; `BESIDE` lists them. Times are
its own: an intervention comes as large a share of the waiting time before the offshoot as it does in training.
"""

from __future__ import annotations

from collections.abc import Callable

from headwise.actions.on_flow import branch_flow
from headwise.flow.config import FlowConfig
from headwise.flow.simulate import simulate
from headwise.paper.causal.trial import Taking, excess_at, first_taking, takings

CONFIG = FlowConfig(t_end=1500.0, points=1500, grid="linear")
AHEAD = 0.15
"""Share of the waiting time before the offshoot at which an intervention begins; about 50 of 350 steps in training."""

RELEASED_AT = 700.0


def _first_two(seed: int) -> tuple[Taking, Taking] | None:
    trajectory = simulate(CONFIG, seed)
    learned, left = first_taking(trajectory, 1), first_taking(trajectory, 2)
    return None if learned is None or left is None else (learned, left)


def flow_noise(seed: int) -> str:
    """The leaving head held: which other head leaves, and when."""
    found = _first_two(seed)
    if found is None:
        return "no head leaves"
    learned, left = found
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


def flow_compensation(seed: int) -> str:
    """The values of the heads that stay held through the offshoot: how the loss and its time change."""
    found = _first_two(seed)
    if found is None:
        return "no head leaves"
    learned, left = found
    wait = AHEAD * (left.step - learned.step)
    at, until = left.step - wait, left.step + wait
    others = ",".join(str(head) for head in (1, 2, 3) if head != left.head)
    held = branch_flow(CONFIG, at, do=[f"freeze:heads={others}:part=values"], until=until, seed=seed)
    later = first_taking(held, 2, after=int(at))
    more = excess_at(held, int(until)) - excess_at(simulate(CONFIG, seed), int(until))
    when = "at no time" if later is None else f"at {later.step}"
    return f"excess loss at {until:.0f}: {more:+.4f}; group 2 is taken up {when}, in the flow at {left.step}"


def flow_late(seed: int) -> str:
    """Head 3 held from the beginning and released: what it takes."""
    late = branch_flow(CONFIG, 0.0, do=["freeze:heads=3"], until=RELEASED_AT, seed=seed)
    before = sorted({t.group for t in takings(late) if t.head != 3 and t.step <= RELEASED_AT and t.group > 1})
    taken = [t for t in takings(late, after=int(RELEASED_AT)) if t.head == 3]
    said = ", ".join(f"group {t.group} at {t.step}" for t in taken) or f"none until {CONFIG.t_end:g}"
    return f"held at {RELEASED_AT:g}: group 1 and {before}; head 3 then takes {said}"


BESIDE: dict[str, Callable[[int], str]] = {
    "noise-decides": flow_noise,
    "compensation-matters": flow_compensation,
    "late-start": flow_late,
}
"""By the name of the claim."""
