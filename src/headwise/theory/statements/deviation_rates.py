"""Proof of Thm bounded: the flow of the deviations W_i = V_i − V and z_i = s_i − s, in the displays of the proof."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, against, flow, inner, pi, times
from headwise.theory.statement import Outcome, Statement, compare
from headwise.theory.statements.deviation_split import Deviation, draw_deviation, prediction


def coupled_velocity(point: Deviation) -> tuple[Array, Array]:
    """V̇ and ṡ of the coupled system."""
    i, V, s, _, _ = point
    shift = times(i.goal, s) - i.heads * (s @ s) * V
    return shift, pi(s) @ pi(s) @ (against(V, i.goal) - i.heads * inner(V, V) * s)


def along_flow(point: Deviation) -> Array:
    """Ẇ and ż of every head: the flow of all heads minus the coupled one."""
    i, V, s, W, z = point
    shift, step = flow(i.goal, V + W, s + z)
    values, attention = coupled_velocity(point)
    return np.concatenate([(shift - values).ravel(), (step - attention).ravel()])


def display(point: Deviation) -> Array:
    """Ẇ_i = Gz_i − Ps_i + h‖s‖²V, and ż_i in its second form, which splits off Π(s_i)² − Π(s)²."""
    i, V, s, W, z = point
    P = prediction(point)
    values, attention = [], []
    for own, tilt in zip(W, z, strict=True):
        values.append(times(i.goal, tilt) - times(P, s + tilt) + i.heads * (s @ s) * V)
        here, base = pi(s + tilt), pi(s)
        pull = against(own, i.goal) - against(V + own, P) + i.heads * inner(V, V) * s
        attention.append((here @ here - base @ base) @ against(V + own, i.goal - P) + base @ base @ pull)
    return np.concatenate([np.ravel(values), np.ravel(attention)])


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_deviation, truth=along_flow, claim=display)


STATEMENT = Statement(
    "deviation-rates",
    "Theorem bounded, proof: Ẇ and ż",
    "Ẇ_i = Gz_i − Ps_i + h‖s‖²V and ż_i = (Π(s_i)² − Π(s)²)V_iᵀ(G − P) + Π(s)²(W_iᵀG − V_iᵀP + h‖V‖²s)",
    "the same",
    as_printed,
)
