"""Change points against every possible set of cuts, and against ruptures."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from headwise.phases.change_points import change_points

Curves = npt.NDArray[np.floating]


def drawn(rng: np.random.Generator, length: int) -> Curves:
    curves = np.zeros((length, int(rng.integers(1, 5))))
    for _ in range(rng.integers(0, 6)):
        curves[rng.integers(0, length) :] += rng.normal(size=curves.shape[1]) * rng.uniform(0, 3)
    return curves + rng.normal(size=curves.shape) * rng.uniform(0, 1) + 10 * rng.normal()


def cost(curves: Curves, cuts: list[int], penalty: float) -> float:
    pieces = np.split(curves, cuts)
    return sum(float(((piece - piece.mean(axis=0)) ** 2).sum()) for piece in pieces) + penalty * len(cuts)


@pytest.mark.parametrize("seed", range(30))
def test_no_other_cuts_cost_less(seed: int) -> None:
    rng = np.random.default_rng(seed)
    curves, penalty = drawn(rng, 11), float(rng.uniform(0.05, 2))
    every = [
        list(cuts)
        for count in range(5)
        for cuts in itertools.combinations(range(2, 10), count)
        if np.all(np.diff([0, *cuts, 11]) >= 2)
    ]
    found = change_points(curves, penalty=penalty)
    assert found in every
    assert cost(curves, found, penalty) == pytest.approx(min(cost(curves, cuts, penalty) for cuts in every), rel=1e-9)


def test_ruptures_finds_nothing_better() -> None:
    ruptures = pytest.importorskip("ruptures")
    rng = np.random.default_rng(0)
    same = 0
    for _ in range(200):
        curves = drawn(rng, int(rng.integers(4, 200)))
        penalty = float(rng.uniform(1e-3, 0.2) * len(curves))
        theirs = ruptures.KernelCPD(kernel="linear", min_size=2).fit(curves).predict(pen=penalty)[:-1]
        ours = change_points(curves, penalty=penalty)
        same += ours == theirs
        assert cost(curves, ours, penalty) <= cost(curves, theirs, penalty) + 1e-9 * len(curves)
    # Its pruning of candidates may lose the best cuts where pieces have a shortest length; that is rare.
    assert same >= 198


@pytest.mark.parametrize("length", [1, 2, 3])
def test_too_short_for_a_cut(length: int) -> None:
    assert change_points(np.arange(float(length))[:, None] * 100, penalty=0.1) == []


def test_constant_curves_have_no_cut() -> None:
    assert change_points(np.full((50, 2), 1e8), penalty=1e-6) == []
