"""App. initialization: for small t the values of every head are (t/T)G1; the remainder is of second order in t.

Solved by SciPy on the matrices themselves. The second-order term is half the time V̈(0) = −(h/T²)G1, so at time t the
relative error is ht/(2T).
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from headwise.theory.instance import Array, Instance, draw_instance, flow, times
from headwise.theory.statement import Outcome, Statement, bound

TIMES = np.array([0.01, 0.02, 0.04])
LEAST_POWER, LARGEST_REST = 1.9, 0.1
"""The power of t that the remainder must fall with at least, and its largest share of V at the first time."""


def values(i: Instance) -> Array:
    """V_k(t) (t, h, d, d) from V = 0 and uniform attention."""
    shape, split = i.V.shape, i.V.size

    def field(_: float, y: Array) -> Array:
        shift, step = flow(i.goal, y[:split].reshape(shape), y[split:].reshape(i.s.shape))
        return np.concatenate([shift.ravel(), step.ravel()])

    start = np.concatenate([np.zeros(split), np.full(i.s.size, 1 / i.positions)])
    solved = solve_ivp(field, (0, TIMES[-1]), start, t_eval=TIMES, method="DOP853", rtol=1e-11, atol=1e-14)
    return np.asarray(solved.y.T[:, :split].reshape(len(TIMES), *shape))


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    powers, sizes = [], []
    for _ in range(min(trials, 10)):
        i = draw_instance(rng)
        claimed = TIMES[:, None, None, None] * times(i.goal, np.ones(i.positions)) / i.positions
        rest = np.abs(values(i) - claimed).max((1, 2, 3))
        powers.append(float(np.log2(rest[1:] / rest[:-1]).min()))
        sizes.append(float(rest[0] / np.abs(claimed[0]).max()))
    return bound(
        [LEAST_POWER / min(powers), max(sizes) / LARGEST_REST],
        within=1.0,
        quantity="asked power over the power found, and size of the remainder over the size asked for",
        evidence=f"the remainder falls like t^{min(powers):.2f} (asked for: t^{LEAST_POWER:g}) and is up to "
        f"{max(sizes):.1%} of V at t = {TIMES[0]:g} (asked for: {LARGEST_REST:.0%})",
    )


STATEMENT = Statement(
    "initial-value-growth",
    "App. initialization: V_k(t)",
    "V_k(t) ≈ (t/T)G1 for small t",
    "the same, with a remainder of order t²",
    as_printed,
)
