"""Claims about heads that stay and about what is learned: compensation, order, memory, late starts, sparsity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from headwise.paper.causal.readings import (
    Taking,
    excess_at,
    first_taking,
    next_taking,
    on_grid,
    once_measured,
    once_taken,
    takings,
)
from headwise.paper.causal.trial import Trial
from headwise.paper.limit import Limit
from headwise.paper.verdict import Judgement
from headwise.task.config import importance

if TYPE_CHECKING:
    import xarray as xr

BEFORE, THROUGH = 50, 50
"""Steps before and after the first offshoot between which the values of the other heads are frozen."""

MORE_THAN_SHAM = Limit(">", 1.0)
EXCHANGED_AT = 200
ABLATED_AFTER = 150
FASTER = Limit("<", 1.0)
RELEASED_AT, RELEASED_UNTIL = 600, 1600
CLAMPED_FOR, LONG = 100, 4000
HALF = Limit(">=", 0.5)


def judge_compensation(trial: Trial) -> Judgement:
    """Freeze the values of the heads that stay through the first offshoot: how much higher is the loss after it?"""
    run, parent = trial.parent()
    left = first_taking(parent, 2)
    if left is None:
        return Judgement(None, None, "no head of the run takes group 2 up")
    at, until = on_grid(left.step - BEFORE), on_grid(left.step + THROUGH)
    others = ",".join(str(head) for head in (1, 2, 3) if head != left.head)
    answered = once_taken(2, after=at, reached=until)
    frozen = trial.branch(run, at, do=[f"freeze:heads={others}:part=values"], until=until, enough=answered)
    sham = trial.sham(run, at, enough=once_measured(until))
    more = excess_at(frozen.trajectory, until) - excess_at(parent, until)
    spread = abs(excess_at(sham.trajectory, until) - excess_at(parent, until))
    later = first_taking(frozen.trajectory, 2, after=at)
    longer = later is None or later.step > left.step
    ratio = more / max(spread, 1e-6)
    note = (
        f"excess loss at step {until}: {more:+.4f}, sham {spread:.4f} apart; group 2 is taken up at "
        f"{'no step' if later is None else later.step}, in the run at {left.step}"
    )
    return Judgement(MORE_THAN_SHAM.holds(ratio) and longer, ratio, note)


def judge_order(trial: Trial) -> Judgement:
    """Exchange the norms of groups 2 and 3 on the first plateau: to which of them does the next head go?"""
    run, parent = trial.parent()
    left = first_taking(parent, 2)
    if left is None or left.step <= EXCHANGED_AT:
        return Judgement(None, None, "no head of the run takes group 2 up after the norms are exchanged")
    first, second, third = importance(trial.config().task)
    norms = (first, third, second)
    other = trial.branch(run, EXCHANGED_AT, changes={"task.norms": norms}, enough=_next_has_left)
    sham = trial.sham(run, EXCHANGED_AT, enough=_next_has_left)
    found = next_taking(other.trajectory, after=EXCHANGED_AT)
    null = next_taking(sham.trajectory, after=EXCHANGED_AT)
    note = f"next: {_said(found)}; sham: {_said(null)}"
    if null is None or null.group != 2:
        return Judgement(None, None, f"{note}; the sham does not go to group 2")
    return Judgement(found is not None and found.group == 3, math.nan if found is None else float(found.group), note)


def judge_kept(trial: Trial) -> Judgement:
    """With four heads, ablate the one of group 2: does another take it up, faster than it was first learned?"""
    run, parent = trial.parent(heads=4, enough=_settled)
    learned, left = first_taking(parent, 1), first_taking(parent, 2)
    if learned is None or left is None:
        return Judgement(None, None, "no head of the run takes group 2 up")
    at = on_grid(left.step + ABLATED_AFTER)
    another = once_taken(2, after=at, but=[left.head])
    gone = trial.branch(run, at, do=[f"ablate:heads={left.head}"], steps=at + 1000, enough=another)
    sham = first_taking(trial.sham(run, at, steps=at + 1000).trajectory, 2, after=at, but=[left.head])
    found = first_taking(gone.trajectory, 2, after=at, but=[left.head])
    null = "none" if sham is None else f"head {sham.head} at {sham.step}"
    note = f"head {left.head} took it up at {left.step}, ablated at {at}; then {_said(found)}; sham: {null}"
    if found is None:
        return Judgement(False, math.inf, note)
    share = (found.step - at) / (left.step - learned.step)
    return Judgement(FASTER.holds(share) and sham is None, share, note)


def judge_late(trial: Trial) -> Judgement:
    """Freeze head 3 from the beginning and release it at step 600: which pattern does it take?"""
    run, _ = trial.parent()
    late = trial.branch(run, 0, do=["freeze:heads=3"], until=RELEASED_AT, steps=RELEASED_UNTIL)
    held = {t.group for t in takings(late.trajectory) if t.head != 3 and t.step <= RELEASED_AT and t.group > 1}
    free = [group for group in (1, 2, 3) if group not in held | {1}]
    taken = [t for t in takings(late.trajectory, after=RELEASED_AT) if t.head == 3]
    last = late.trajectory["attention_by_group"].isel(block=0, head=2, step=-1).values
    end = int(last.argmax()) + 1
    note = f"held at {RELEASED_AT}: group 1 and {sorted(held)}; head 3 then takes " + (
        ", ".join(f"group {t.group} at {t.step}" for t in taken) or "none"
    )
    note += f", and ends on group {end} with {last.max():.2f}"
    if not free:
        return Judgement(None, None, f"{note}; nothing was left")
    return Judgement(bool(taken) and taken[0].group == free[0], float(end), note)


def judge_sparsity(trial: Trial) -> Judgement:
    """Clamp each specialised head to its ideal pattern at the end: how much of what long training brings is gained?"""
    run, parent = trial.parent()
    last = int(parent["step"].values[-1])
    shares = parent["attention_by_group"].isel(block=0, step=-1).transpose("head", "group").values
    actions = [
        f"clamp:heads={head + 1}:to=group{int(of_head.argmax()) + 1}"
        for head, of_head in enumerate(shares)
        if of_head.max() > 0.5
    ]
    clamped = trial.branch(run, last, do=actions, steps=last + CLAMPED_FOR)
    on = trial.branch(run, last, do=["sham"], steps=LONG)
    before = excess_at(parent, last)
    gained = before - excess_at(clamped.trajectory, last + CLAMPED_FOR)
    brought = before - excess_at(on.trajectory, LONG)
    null = before - excess_at(on.trajectory, last + CLAMPED_FOR)
    note = (
        f"excess loss {before:.4f} at {last}: clamped {gained:+.4f} after {CLAMPED_FOR} steps (sham {null:+.4f}), "
        f"training to {LONG} {brought:+.4f} (gains are positive)"
    )
    if brought <= 0:
        return Judgement(gained > max(null, 0), None, f"{note}; longer training brings nothing")
    return Judgement(HALF.holds(gained / brought), gained / brought, note)


def _next_has_left(trajectory: xr.Dataset) -> bool:
    return next_taking(trajectory, after=EXCHANGED_AT) is not None


def _settled(trajectory: xr.Dataset) -> bool:
    """Whether a run has come as far as where the head of group 2 is ablated."""
    left = first_taking(trajectory, 2)
    return left is not None and once_measured(on_grid(left.step + ABLATED_AFTER))(trajectory)


def _said(taken: Taking | None) -> str:
    return "none" if taken is None else f"head {taken.head} takes group {taken.group} at {taken.step}"
