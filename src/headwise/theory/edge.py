"""The edge between positions 1 and n, on which a late head moves: its conserved quantity and its resting points.

On s' = (1−b)s_1* + b s_n* the two-scale flow is ḃ = 2b²(1−b)²(m_n v − b‖V'‖²) and d‖V'‖²/dt = 2b(m_n v − b‖V'‖²) with
v = ⟨V', V_n*⟩, so F(b) − ‖V'‖² is conserved, F(b) = log(b/(1−b)) + 1/(1−b). Every V' = (m_n/b)V_n* is at rest.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from headwise.flow.reduction import State
from headwise.flow.solve import integrate
from headwise.flow.systems import nth_head
from headwise.flow.target import Target
from headwise.theory.instance import Array


def F(b: float) -> float:
    """log(b/(1−b)) + 1/(1−b)."""
    return float(np.log(b / (1 - b)) + 1 / (1 - b))


def resting_share(strength: float, *, b: float, norm: float) -> float:
    """b at rest, selected by what is conserved, from attention b and ‖V'‖² = norm at the start."""
    kept = F(b) - norm
    return float(brentq(lambda x: F(x) - (strength / x) ** 2 - kept, 1e-9, 1 - 1e-12, xtol=1e-14))


def on_edge(target: Target, n: int, b: float) -> Array:
    """s' = (1−b)s_1* + b s_n*."""
    ideal = target.ideal_attention
    return np.asarray((1 - b) * ideal[0] + b * ideal[n - 1])


def solve_late_head(target: Target, n: int, c: Array, s: Array, times: Array) -> tuple[Array, Array]:
    """V' (t, n) and s' (t, T) of the n-th-head system."""
    system = nth_head(target, n)
    y = system.pack(State(c[None], s[None]))
    state = system.unpack(
        integrate(system.field, y, t_end=float(times[-1]), method="LSODA", rtol=1e-10, atol=1e-13).at(times)
    )
    return state.coefficients[:, 0], state.moving[:, 0]


def potential(target: Target, n: int, c: Array, s: Array) -> Array:
    """φ = ⟨V', G_(n−1)s'_(n−1)⟩ − ½‖V'‖²‖s'_(n−1)‖², for any leading dimensions."""
    late = target.strengths * (np.arange(target.features) >= n - 1)
    tail = s[..., n - 1 :]
    return np.asarray(np.sum(late * c * s[..., : target.features], -1) - 0.5 * np.sum(c**2, -1) * np.sum(tail**2, -1))
