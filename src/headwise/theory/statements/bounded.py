"""Thm bounded: deviations between heads grow at most like ε e^{ct}.

Within the printed window, t up to 1/(−c log ε), this is true, and says little: the window shrinks to nothing as ε → 0,
where the theorem ought to give more time, and it never reaches the first stage. The right window is (1/c) log(δ/ε) with
a fixed δ. c depends on h, on G and on V(0), through the values that the coupled solution passes; it is computed from
that solution before any perturbed one is solved (see `headwise.theory.growth`).
"""

from __future__ import annotations

import numpy as np

from headwise.flow.reduction import State
from headwise.flow.solve import Solution, integrate
from headwise.flow.stages import stage_levels
from headwise.flow.systems import all_heads, coupled
from headwise.flow.target import Target, singleton_target
from headwise.theory.growth import constant, deviation
from headwise.theory.instance import Array
from headwise.theory.statement import Outcome, Statement, bound

DELTA, SLACK, HEADS, T = 0.02, 1.1, 3, 8
"""Deviations up to DELTA count as small; SLACK covers what the linearisation leaves out below DELTA."""

EPSILONS = (1e-3, 1e-5, 1e-7)
QUANTITY = "largest deviation over ε e^(ct)"


def reference(target: Target, t_end: float) -> Solution:
    """The coupled flow from V = 0 and uniform attention, in s."""
    system = coupled(target, HEADS, chart="s")
    y = system.pack(State(np.zeros((1, target.features)), np.full((1, T), 1 / T)))
    return integrate(system.field, y, t_end=t_end, rtol=1e-12, atol=1e-14)


def states(target: Target, solution: Solution, times: Array) -> tuple[Array, Array]:
    """Coefficients (t, h, n) and attention (t, h, T) of all heads on the coupled solution."""
    state = coupled(target, HEADS, chart="s").unpack(solution.at(times))
    return np.repeat(state.coefficients, HEADS, 1), np.repeat(state.moving, HEADS, 1)


def growth_constant(target: Target, solution: Solution) -> float:
    """c over the whole coupled solution."""
    c, s = states(target, solution, np.linspace(0, solution.steps[-1], 40))
    return SLACK * max(constant(target, HEADS, a, b) for a, b in zip(c, s, strict=True))


def problem(rng: np.random.Generator) -> tuple[Target, Solution, float]:
    """A target, its coupled solution to twice the first stage time, and that time."""
    target = singleton_target(np.array([1.0, 0.7, 0.5]) * rng.uniform(1.5, 2.5), T)
    solution = reference(target, 60.0)
    system = coupled(target, HEADS, chart="s")
    t1 = solution.crossing(lambda y: system.loss(system.unpack(y)), float(stage_levels(target)[0]))
    assert t1 is not None
    return target, reference(target, 2 * t1), t1


def ratios(
    rng: np.random.Generator, target: Target, solution: Solution, *, c: float, eps: float, window: float
) -> list[float]:
    """Deviation over ε e^{ct} at some times of a window, from a random perturbation of size ε of every head."""
    system = all_heads(target, HEADS, chart="s")
    values = rng.standard_normal((HEADS, target.features))
    tilt = rng.standard_normal((HEADS, T))
    tilt -= tilt.mean(-1, keepdims=True)
    values *= eps / np.linalg.norm(values, axis=-1, keepdims=True)
    tilt *= eps / np.linalg.norm(tilt, axis=-1, keepdims=True)
    y = system.pack(State(values, 1 / T + tilt))
    times = np.linspace(0, window, 20)[1:]
    there = system.unpack(integrate(system.field, y, t_end=window, rtol=1e-12, atol=1e-3 * eps).at(times))
    c_ref, s_ref = states(target, solution, times)
    return [
        deviation((there.coefficients[k], there.moving[k]), (c_ref[k], s_ref[k])) / (eps * np.exp(c * t))
        for k, t in enumerate(times)
    ]


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    """The inequality inside the printed window, and how much of the first stage that window covers."""
    found: list[float] = []
    shares = []
    for _ in range(min(trials, 3)):
        target, solution, t1 = problem(rng)
        c = growth_constant(target, solution)
        for eps in EPSILONS:
            window = 1 / (c * np.log(1 / eps))
            shares.append(window / t1)
            found += ratios(rng, target, solution, c=c, eps=eps, window=window)
    return bound(
        found,
        within=1.0 + 1e-6,
        quantity=QUANTITY,
        evidence=f"deviation at most {max(found):.4f} of ε e^(ct); but the window covers {max(shares):.1%} of the time "
        f"to t_1 at ε = {EPSILONS[0]:g} and {min(shares):.1%} at ε = {EPSILONS[-1]:g}",
    )


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """deviation/(ε e^{ct}) ≤ 1 up to (1/c) log(δ/ε), and that window grows without limit as ε falls."""
    found: list[float] = []
    reach = []
    for _ in range(min(trials, 3)):
        target, solution, t1 = problem(rng)
        c = growth_constant(target, solution)
        for eps in EPSILONS:
            reach.append(np.log(DELTA / eps) / c / t1)
            window = min(float(np.log(DELTA / eps)) / c, 2 * t1)
            found += ratios(rng, target, solution, c=c, eps=eps, window=window)
    return bound(
        found,
        within=1.0 + 1e-6,
        quantity=QUANTITY,
        evidence=f"deviation at most {max(found):.2g} of ε e^(ct); "
        f"the window is {max(reach):.2g} t_1 at ε = {EPSILONS[-1]:g}",
    )


STATEMENT = Statement(
    "bounded",
    "Theorem bounded",
    "deviations stay below ε e^{ct} for t up to 1/(−c log ε)",
    "they do for t up to (1/c) log(δ/ε), with c depending on h, G and V(0)",
    as_printed,
    as_corrected,
    fault="weak",
)
