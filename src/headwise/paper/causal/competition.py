"""Claims about who leaves the first group and when: noise decides, and symmetry is the barrier."""

from __future__ import annotations

import math

import numpy as np

from headwise.paper.causal.readings import first_taking, on_grid, once_taken
from headwise.paper.causal.trial import Trial
from headwise.paper.limit import Limit
from headwise.paper.verdict import Judgement

SAME_WAIT = Limit("<=", 0.2)
BEFORE = 50
"""Steps before it takes group 2 up at which the leaving head is held."""

TIED_FROM, TIED_UNTIL, RELEASED_UNTIL = 200, 700, 1700
SIZES = (1e-1, 1e-2, 1e-3, 1e-4)
"""Deviations of the noise on one head's attention with which the ties are undone."""

STRAIGHT = Limit(">=", 0.9)


def judge_noise(trial: Trial) -> Judgement:
    """Hold the head that will take group 2 up, from 50 steps before: does another one, after the same wait?"""
    run, parent = trial.parent()
    learned = first_taking(parent, 1)
    left = first_taking(parent, 2)
    if learned is None or left is None:
        return Judgement(None, None, "no head of the run takes group 2 up")
    at = on_grid(left.step - BEFORE)
    others = once_taken(2, after=at, but=[left.head])
    held = trial.branch(run, at, do=[f"freeze:heads={left.head}"], enough=others)
    sham = first_taking(trial.sham(run, at, enough=once_taken(2, after=at)).trajectory, 2, after=at)
    instead = first_taking(held.trajectory, 2, after=at, but=[left.head])
    null = "the sham: none" if sham is None else f"the sham: head {sham.head} at {sham.step}"
    if instead is None:
        return Judgement(False, math.inf, f"head {left.head} left at {left.step}; held, no other does; {null}")
    change = abs(instead.step - left.step) / (left.step - learned.step)
    note = f"head {left.head} at {left.step}; held, head {instead.head} at {instead.step}; {null}"
    return Judgement(SAME_WAIT.holds(change), change, note)


def judge_symmetry(trial: Trial) -> Judgement:
    """Tie all heads on the first plateau, then undo it with noise of several sizes: how long until one leaves?"""
    run, parent = trial.parent()
    left = first_taking(parent, 2)
    if left is None or left.step <= TIED_FROM:
        return Judgement(None, None, "no head of the run takes group 2 up after the ties begin")
    tied = trial.branch(run, TIED_FROM, do=["tie"], steps=TIED_UNTIL)
    early = first_taking(tied.trajectory, 2, after=TIED_FROM)
    waits: list[float] = []
    for size in SIZES:
        freed = trial.branch(
            tied.run,
            TIED_UNTIL,
            do=[f"perturb:heads=1:part=attention:size={size}"],
            steps=RELEASED_UNTIL,
            enough=once_taken(2, after=TIED_UNTIL),
        )
        found = first_taking(freed.trajectory, 2, after=TIED_UNTIL)
        waits.append(math.nan if found is None else found.step - TIED_UNTIL)
    note = f"tied, {'none leaves' if early is None else f'one leaves at {early.step}'} until {TIED_UNTIL}; freed with "
    note += ", ".join(f"{size:g}: {wait:g} steps" for size, wait in zip(SIZES, waits, strict=True))
    if early is not None or any(map(math.isnan, waits)):
        return Judgement(False, None, note)
    x, y = np.array([math.log(1 / size) ** 2 for size in SIZES]), np.array(waits)
    slope, start = np.polyfit(x, y, 1)
    spread = float(((y - y.mean()) ** 2).sum())
    fit = 1 - float(((y - slope * x - start) ** 2).sum()) / spread if spread > 0 else 0.0
    return Judgement(STRAIGHT.holds(fit) and slope > 0, fit, f"{note}; slope {slope:.2f} steps")
