"""App. C, expansion of Π(s') about its first position: a(1−a) in place of a on the diagonal, a = ⟨s_1*, s'⟩."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, draw_attention, pi
from headwise.theory.statement import Counterexample, Outcome, Statement, compare


def draw(rng: np.random.Generator) -> Array:
    return draw_attention(rng, int(rng.integers(3, 9)))


def _expansion(s: Array, diagonal: float) -> Array:
    first, tail = np.eye(len(s))[0], s * (np.arange(len(s)) > 0)
    cross = np.outer(first, tail) + np.outer(tail, first)
    return np.asarray(pi(tail) + s[0] * (diagonal * np.outer(first, first) - cross))


def printed(s: Array) -> Array:
    return _expansion(s, 1.0)


def corrected(s: Array) -> Array:
    return _expansion(s, 1.0 - s[0])


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw, truth=pi, claim=printed)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw, truth=pi, claim=corrected)


def counterexample() -> Counterexample:
    s = np.array([0.5, 0.5])
    true, claimed = float(pi(s)[0, 0]), float(printed(s)[0, 0])
    return Counterexample(
        f"s' = ({s[0]:g}, {s[1]:g}), a = {s[0]:g}",
        f"the first diagonal entry of Π(s') is a = {claimed:g}",
        f"it is s'_1 − s'_1² = {true:g}",
        true != claimed,
    )


STATEMENT = Statement(
    "projector-expansion",
    "App. C, expansion of Π(s')",
    "Π(s') = Π(s'_(1)) + a(s_1*s_1*ᵀ − s_1*s'_(1)ᵀ − s'_(1)s_1*ᵀ)",
    "the diagonal term is a(1−a)s_1*s_1*ᵀ",
    as_printed,
    as_corrected,
    fault="wrong constant",
    counterexample=counterexample,
)
