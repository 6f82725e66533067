"""Remark initialization: from V = 0 and uniform attention the flow enters the ordering region of Thm coupling."""

from __future__ import annotations

import numpy as np

from headwise.flow.reduction import State
from headwise.flow.solve import integrate
from headwise.flow.systems import coupled
from headwise.theory.instance import draw_instance
from headwise.theory.statement import Outcome, Statement, bound

TIMES = np.linspace(0.05, 2, 40)


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    """Smallest lead of feature 1 and of position 1 after a short time, where ordering is claimed."""
    deficits = []
    for _ in range(min(trials, 10)):
        i = draw_instance(rng)
        system = coupled(i.target(), i.heads)
        y = system.pack(State(np.zeros((1, i.heads)), np.zeros((1, i.positions))))
        state = system.unpack(integrate(system.field, y, t_end=TIMES[-1], rtol=1e-11, atol=1e-14).at(TIMES))
        c, s = state.coefficients[:, 0], system.attention(state)[:, 0]
        deficits.append(max(0.0, float((c[:, 1:] - c[:, :1]).max()), float((s[:, 1:] - s[:, :1]).max())))
    led = sum(deficit == 0 for deficit in deficits)
    return bound(
        deficits,
        within=0.0,
        quantity="largest amount by which another feature or position leads",
        evidence=f"feature 1 leads the values and position 1 the attention from t = {TIMES[0]:g} to {TIMES[-1]:g} in "
        f"{led} of {len(deficits)} problems",
    )


STATEMENT = Statement(
    "initialization-basin",
    "Remark initialization",
    "near the uniform start all heads move into the ordering region",
    "the same",
    as_printed,
)
