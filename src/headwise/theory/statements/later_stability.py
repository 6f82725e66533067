"""§3.3, end: in later phases, too, the flow stays near its idealised system for a finite time.

The idealised system of the third phase: two of four heads on s_1*, one on s_2*, their attention fixed, and a free head;
values and the free head's attention move. The bound, the printed window and its weakness are those of Thm bounded, and
the constant is measured before any perturbed flow is solved (see `headwise.theory.growth`).
"""

from __future__ import annotations

import numpy as np

from headwise.flow.reduction import State, System
from headwise.flow.solve import integrate
from headwise.flow.systems import all_heads
from headwise.flow.target import Target, singleton_target
from headwise.theory.growth import constant, deviation
from headwise.theory.instance import Array
from headwise.theory.statement import Outcome, Statement, bound

T, SPAN, DELTA, SLACK, ENSEMBLE = 5, 3.0, 0.02, 1.1, 2
EPSILONS = (1e-3, 1e-5)
ROWS = [0] * ENSEMBLE + [1, 2]
"""Which row of the idealised system each of the four heads follows."""


def idealised(target: Target) -> System:
    """Heads on s_1* (two as one) and on s_2*, and a free head."""
    return System(target, np.array([float(ENSEMBLE), 1.0, 1.0]), fixed=target.ideal_attention[:2], chart="s")


def start(rng: np.random.Generator, target: Target) -> State:
    """The printed start of the third phase: the other heads at their best for a free head on its way to feature 3."""
    m, b = target.strengths, float(rng.uniform(0.2, 0.4))
    s = np.array([0.85 - b, 0.05, b, *[0.1 / (T - 3)] * (T - 3)])
    free = np.array([0.3, 0.1, 0.6 * m[2], 0.0])
    values = np.stack([(m[0] * np.eye(4)[0] - s[0] * free) / ENSEMBLE, m[1] * np.eye(4)[1] - s[1] * free, free])
    return State(values, s[None])


def path(target: Target, state: State, times: Array) -> tuple[Array, Array]:
    """Coefficients (t, 4, n) and attention (t, 4, T) of all heads on the idealised solution."""
    system = idealised(target)
    found = system.unpack(integrate(system.field, system.pack(state), t_end=SPAN, rtol=1e-12, atol=1e-14).at(times))
    return found.coefficients[:, ROWS], system.attention(found)[:, ROWS]


def ratios(rng: np.random.Generator, *, printed: bool) -> tuple[list[float], list[float]]:
    """Deviations over ε e^{ct} in one problem, for every ε, and the windows in which they were taken."""
    target = singleton_target(float(rng.uniform(0.8, 1.3)) * np.array([2.2, 1.7, 1.3, 1.0]), T)
    state, heads = start(rng, target), len(ROWS)
    c_ref, s_ref = path(target, state, np.linspace(0, SPAN, 20))
    c = SLACK * max(constant(target, heads, a, b) for a, b in zip(c_ref, s_ref, strict=True))
    system, found, windows = all_heads(target, heads, chart="s"), [], []
    for eps in EPSILONS:
        window = 1 / (c * np.log(1 / eps)) if printed else min(float(np.log(DELTA / eps)) / c, SPAN)
        times = np.linspace(0, window, 12)
        c_ref, s_ref = path(target, state, times)
        values, tilt = rng.standard_normal(c_ref[0].shape), rng.uniform(0.1, 1, s_ref[0].shape)
        # Heads on a vertex can only move inwards: the tilt takes from the largest entry.
        tilt[range(heads), s_ref[0].argmax(-1)] = 0
        tilt[range(heads), s_ref[0].argmax(-1)] = -tilt.sum(-1)
        values *= eps / np.linalg.norm(values, axis=-1, keepdims=True)
        tilt *= eps / np.linalg.norm(tilt, axis=-1, keepdims=True)
        y = system.pack(State(c_ref[0] + values, s_ref[0] + tilt))
        there = system.unpack(integrate(system.field, y, t_end=window, rtol=1e-12, atol=1e-13).at(times))
        windows.append(window)
        found += [
            deviation((there.coefficients[k], there.moving[k]), (c_ref[k], s_ref[k])) / (eps * np.exp(c * t))
            for k, t in enumerate(times)
            if t > 0
        ]
    return found, windows


def _outcome(rng: np.random.Generator, trials: int, *, printed: bool) -> Outcome:
    found, windows = zip(*(ratios(rng, printed=printed) for _ in range(min(trials, 3))), strict=True)
    worst = max(max(one) for one in found)
    return bound(
        [worst],
        within=1 + 1e-6,
        quantity="largest deviation over ε e^(ct)",
        evidence=f"deviation at most {worst:.2g} of ε e^(ct) within a time of {min(map(min, windows)):.2g} to "
        f"{max(map(max, windows)):.2g}",
    )


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return _outcome(rng, trials, printed=True)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return _outcome(rng, trials, printed=False)


STATEMENT = Statement(
    "later-stability",
    "§3.3, end: stability of later phases",
    "analogous bounds hold in later phases: deviations below ε e^{ct} for t up to 1/(−c log ε)",
    "they do for t up to (1/c) log(δ'/ε), with c depending on the problem",
    as_printed,
    as_corrected,
    fault="weak",
)
