"""Where a late head ends: what both Thm cooperative (n = 2) and Thm higher (n > 2) claim, and what holds instead."""

from __future__ import annotations

import numpy as np

from headwise.flow.reduction import State
from headwise.flow.systems import nth_head
from headwise.flow.target import Target, singleton_target
from headwise.theory.edge import on_edge, potential, resting_share, solve_late_head
from headwise.theory.instance import Array
from headwise.theory.statement import Counterexample, Outcome, bound

LATE = np.array([1e3, 1e4, 1e5])
"""Times by which a head that starts inside the simplex is followed."""


def draw_edge(rng: np.random.Generator, n: int) -> tuple[Target, Array, Array, float]:
    """A start on the edge that meets the theorem's hypotheses: ordering and φ(0) > 0."""
    while True:
        h = n + int(rng.integers(0, 2))
        target = singleton_target(
            rng.uniform(0.8, 1.3) * np.power(1.4, np.arange(h)[::-1]), h + int(rng.integers(0, 3))
        )
        b = float(rng.uniform(0.1, 0.6))
        c = np.zeros(h)
        c[0], c[n - 1] = rng.uniform(0, 0.6), rng.uniform(0.2, 1.0)
        s = on_edge(target, n, b)
        if potential(target, n, c, s) > 0:
            return target, c, s, b


def printed_limit(rng: np.random.Generator, trials: int, n: int) -> Outcome:
    """1 − ⟨s', s_n*⟩ at the end of flows that start on the edge, as the theorem's own remark lets them."""
    gaps = []
    for _ in range(min(trials, 8)):
        target, c, s, _ = draw_edge(rng, n)
        _, attention = solve_late_head(target, n, c, s, np.array([0.0, 2e3]))
        gaps.append(1 - float(attention[-1, n - 1]))
    return bound(
        gaps,
        within=1e-3,
        quantity=f"largest attention off position {n} at the end",
        evidence=f"the head stops with up to {max(gaps):.2f} of its attention off position {n}",
    )


def resting_counterexample(n: int) -> Counterexample:
    """A start inside the simplex that meets every hypothesis and does not move: n = T, half of attention on n."""
    m, b = 1.0, 0.5
    target = singleton_target(m * np.power(2.0, np.arange(n)[::-1]), n)
    c, s = np.zeros(n), np.full(n, (1 - b) / (n - 1))
    c[n - 1], s[n - 1] = m / b, b
    moved = nth_head(target, n).velocity(State(c[None], s[None]))
    speed = float(np.abs(moved.coefficients).max() + np.abs(moved.moving).max())
    phi, shown = float(potential(target, n, c, s)), ", ".join(f"{x:g}" for x in s)
    return Counterexample(
        f"h = T = {n}, m_{n} = {m:g}, V'(0) = {m / b:g}·V_{n}*, s'(0) = ({shown}); the orderings "
        f"hold and φ(0) = {phi:g} > 0",
        f"s' converges to s_{n}*, so that its last entry tends to one",
        f"V̇' = 0 and ṡ' = 0: the speed is {speed:g}, and the last entry stays {b:g}",
        speed < 1e-15 and phi > 0,
    )


def corrected_limit(rng: np.random.Generator, trials: int, n: int) -> Outcome:
    """On the edge: the product, φ and the selected b. Inside the simplex: the product and φ, algebraically slowly."""
    exact, slow, returned = [], [], []
    for _ in range(min(trials, 8)):
        target, c, s, b = draw_edge(rng, n)
        m = float(target.strengths[n - 1])
        V, attention = solve_late_head(target, n, c, s, np.array([0.0, 2e3]))
        share = float(attention[-1, n - 1])
        resting = resting_share(m, b=b, norm=float(np.sum(c**2)))
        exact += [abs(V[-1, n - 1] * share / m - 1), abs(share - resting)]
        exact.append(abs(float(potential(target, n, V[-1], attention[-1])) / (m**2 / 2) - 1))
        inside = 0.9 * s + 0.1 / target.positions
        V, attention = solve_late_head(target, n, c, inside, LATE)
        slow.append(float(np.abs(V[-1, n - 1] * attention[-1, n - 1] / m - 1)))
        if target.positions > n:
            off = 1 - attention[:, n - 1]
            returned.append(float(np.log(off[-1] / off[-2]) / np.log(10)))
    # Attention beyond the first n positions brings sparsity back; an exponent near zero would mean it does not.
    stalled = max(0.0, 0.05 + max(returned, default=-1.0))
    return bound(
        [*exact, *slow, stalled],
        within=1e-4,
        quantity="largest distance from what is claimed of product, φ and b",
        evidence=(
            f"on the edge the product is m_n within {max(exact):.1g} and F(b) − ‖V'‖² selects b; from inside it is m_n "
            f"within {max(slow):.1g} at t = {LATE[-1]:g} while, if T > n, 1 − ⟨s', s_n*⟩ falls like "
            f"t^{max(returned, default=0.0):.2f} or faster"
        ),
    )
