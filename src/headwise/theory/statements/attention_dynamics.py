"""Eq. dynamics: in terms of s the flow of the logits becomes ṡ = Π(s)² Vᵀ(G − P), and the sum of the logits is kept."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, against, derivative, draw_instance, flow, pi, tensor
from headwise.theory.statement import Outcome, Statement, identity, relative_error


def softmax(q: Array) -> Array:
    return np.asarray(np.exp(q) / np.exp(q).sum())


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    errors = []
    for _ in range(trials):
        i = draw_instance(rng)
        rest = i.goal - tensor(i.V, i.s)
        _, claimed = flow(i.goal, i.V, i.s)
        for k in range(i.heads):
            rate = pi(i.s[k]) @ against(i.V[k], rest)
            errors.append(abs(rate.sum()) / np.abs(rate).max())
            errors.append(relative_error(derivative(softmax, np.log(i.s[k]), rate), claimed[k]))
    return identity(errors)


STATEMENT = Statement(
    "attention-dynamics",
    "Eq. dynamics",
    "ṡ_k = Π(s_k)² V_kᵀ(G − P), and the sum of the logits never changes",
    "the same",
    as_printed,
)
