"""§3.1, tensor notation: the inner product of two sums of outer products needs both indices.

⟨Σ_k B_k ⊗ v_k, Σ_l B'_l ⊗ v'_l⟩ has h² terms; the single sum is not even independent of how a tensor is written.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Instance, draw_instance, tensor
from headwise.theory.statement import Outcome, Statement, compare


def entrywise(i: Instance) -> float:
    """The sum over all d·d·T entries, with the target as the other tensor."""
    return float(np.sum(tensor(i.V, i.s) * i.goal))


def single_sum(i: Instance) -> float:
    """As printed."""
    others = i.strengths[:, None, None] * i.features
    return float(sum(np.sum(b * o) * (v @ w) for b, o, v, w in zip(i.V, others, i.s, i.patterns, strict=True)))


def double_sum(i: Instance) -> float:
    """As corrected."""
    others = i.strengths[:, None, None] * i.features
    return float(np.sum(np.einsum("kab,lab->kl", i.V, others) * (i.s @ i.patterns.T)))


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=entrywise, claim=single_sum)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=entrywise, claim=double_sum)


STATEMENT = Statement(
    "tensor-inner-product",
    "§3.1, tensor notation",
    "the inner product of two tensors is Σ_k ⟨B_k, B'_k⟩⟨v_k, v'_k⟩",
    "it is the double sum Σ_k Σ_l ⟨B_k, B'_l⟩⟨v_k, v'_l⟩",
    as_printed,
    as_corrected,
    fault="typo",
)
