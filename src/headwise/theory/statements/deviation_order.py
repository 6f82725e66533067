"""Proof of Thm bounded: the O(ε) expansions. VᵀP, Ps, Ẇ_i and ż_i differ from their coupled values by O(ε).

ε is made smaller by tens along a fixed direction; the power with which each difference falls is measured. A term of
order one would give power 0, a missing factor √ε power ½.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import against, inner, times
from headwise.theory.statement import Outcome, Statement, bound
from headwise.theory.statements.deviation_rates import along_flow
from headwise.theory.statements.deviation_split import Deviation, draw_deviation, prediction

EPSILONS = (1e-3, 1e-4, 1e-5)
LEAST_POWER = 0.95


def differences(point: Deviation) -> list[float]:
    """‖VᵀP − h‖V‖²s‖, ‖Ps − h‖s‖²V‖, and the size of Ẇ and ż."""
    i, V, s, W, _ = point
    P = prediction(point)
    rates = along_flow(point)
    return [
        float(np.linalg.norm(against(V, P) - i.heads * inner(V, V) * s)),
        float(np.linalg.norm(times(P, s) - i.heads * (s @ s) * V)),
        float(np.linalg.norm(rates[: W.size])),
        float(np.linalg.norm(rates[W.size :])),
    ]


def powers(rng: np.random.Generator) -> list[float]:
    """The smallest power of ε over the steps, for each of the four."""
    seed = int(rng.integers(1 << 30))
    sizes = np.array([differences(draw_deviation(np.random.default_rng(seed), eps)) for eps in EPSILONS])
    steps = np.log(sizes[:-1] / sizes[1:]) / np.log(np.array(EPSILONS[:-1]) / np.array(EPSILONS[1:]))[:, None]
    return [float(power) for power in steps.min(0)]


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    found = np.array([powers(rng) for _ in range(trials)])
    least = ", ".join(f"{power:.2f}" for power in found.min(0))
    return bound(
        [1 - float(found.min())],
        within=1 - LEAST_POWER,
        quantity="one minus the smallest power of ε with which a difference falls",
        evidence=f"powers of ε at least {least} for VᵀP, Ps, Ẇ and ż (asked for: {LEAST_POWER:g} or more)",
    )


STATEMENT = Statement(
    "deviation-order",
    "Theorem bounded, proof: O(ε)",
    "VᵀP = h‖V‖²s + O(ε), Ps = h‖s‖²V + O(ε), Ẇ_i = O(ε) and ż_i = O(ε)",
    "the same",
    as_printed,
)
