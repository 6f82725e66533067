"""Plateaus against mathematics: what is log-convex has no stages, what steps has as many as it steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwise.phases.config import DEFAULT
from headwise.phases.loss import read_loss
from headwise.phases.plateaus import find_plateaus
from headwise.phases.series import Series, halfway, noise_level, without_spikes

TIME = np.linspace(0, 1, 201)


def boundaries(curve: np.ndarray, steps: np.ndarray = TIME) -> list[float]:
    return [plateau.start for plateau in find_plateaus(Series(steps, curve[:, None]), DEFAULT)][1:]


@settings(max_examples=60, deadline=None)
@given(
    rates=st.lists(st.floats(0.2, 300), min_size=1, max_size=4),
    weights=st.lists(st.floats(0.05, 1), min_size=4, max_size=4),
    floor=st.floats(0, 2),
)
def test_mixtures_of_decaying_exponentials_are_one_stage(
    rates: list[float], weights: list[float], floor: float
) -> None:
    curve = floor + sum(w * np.exp(-r * TIME) for r, w in zip(rates, weights, strict=False))
    assert boundaries(curve) == []


@settings(max_examples=40, deadline=None)
@given(power=st.floats(0.3, 2), scale=st.floats(0.002, 0.5), floor=st.floats(0, 1))
def test_power_laws_are_one_stage(power: float, scale: float, floor: float) -> None:
    assert boundaries(floor + (1 + TIME / scale) ** -power) == []


@settings(max_examples=40, deadline=None)
@given(
    places=st.lists(st.floats(0.15, 0.85), min_size=1, max_size=3).filter(
        lambda p: len(p) == 1 or np.diff(sorted(p)).min() > 0.18
    ),
    fall=st.floats(0.25, 0.7),
)
def test_steps_are_found_where_they_are(places: list[float], fall: float) -> None:
    places = sorted(places)
    curve = np.ones_like(TIME)
    for k, place in enumerate(places):
        curve -= fall**k * (1 - fall) / (1 + np.exp(-(TIME - place) / 0.008))
    found = boundaries(curve)
    assert len(found) == len(places)
    np.testing.assert_allclose(found, places, atol=0.01)


def test_overfitting_rise_is_not_a_stage() -> None:
    falling = 0.2 + np.exp(-TIME / 0.05)
    assert boundaries(falling + 0.5 * np.clip(TIME - 0.3, 0, None) ** 1.5) == []


def test_flat_and_constant_zero_curves_are_one_stage() -> None:
    rng = np.random.default_rng(0)
    assert boundaries(np.zeros_like(TIME)) == []
    assert boundaries(np.full_like(TIME, 3.0)) == []
    assert boundaries(3 + 0.01 * rng.normal(size=len(TIME))) == []


def test_a_boundary_is_the_midpoint_of_its_drop() -> None:
    width, place = 0.08, 0.6
    curve = 0.3 + 0.7 * np.clip((place + width / 2 - TIME) / width, 0, 1)
    assert boundaries(curve) == pytest.approx([place], abs=0.004)


def test_single_evaluation_spikes_do_not_matter() -> None:
    curve = 0.2 + 0.8 / (1 + np.exp((TIME - 0.5) / 0.01))
    spiked = curve.copy()
    spiked[[30, 77, 140, 180]] += 3
    assert boundaries(spiked) == pytest.approx(boundaries(curve), abs=0.01)
    assert without_spikes(spiked[:, None])[:, 0] == pytest.approx(curve, abs=0.12)


@settings(max_examples=25, deadline=None)
@given(factor=st.floats(1e-6, 1e6))
def test_scaling_the_loss_moves_no_boundary(factor: float) -> None:
    rng = np.random.default_rng(1)
    curve = 0.1 + 0.9 / (1 + np.exp((TIME - 0.3) / 0.02)) + 0.5 / (1 + np.exp((TIME - 0.7) / 0.02))
    curve += 0.01 * rng.normal(size=len(TIME))
    assert len(boundaries(curve)) == 2
    assert boundaries(curve * factor) == pytest.approx(boundaries(curve), abs=1e-9)


def test_noise_level_ignores_trends() -> None:
    rng = np.random.default_rng(2)
    noisy = 5 * np.linspace(0, 1, 5001)[:, None] + 0.3 * rng.normal(size=(5001, 1))
    assert noise_level(noisy)[0] == pytest.approx(0.3, rel=0.05)


def test_halfway_uses_the_first_passage() -> None:
    path = np.concatenate([np.linspace(0, 1, 11), np.linspace(1, 0.3, 8), np.linspace(0.3, 1, 8)])
    assert halfway(path) == pytest.approx(5.0)
    assert halfway(np.zeros(5)) is None
    assert halfway(np.ones(5)) is None


def test_an_initial_plateau_is_named() -> None:
    curve = 0.2 + 0.8 / (1 + np.exp((TIME - 0.4) / 0.01))
    labels = [stage.label for stage in read_loss(TIME, curve, DEFAULT).stages]
    assert labels[0].startswith("initial plateau")
    assert labels[1].startswith("plateau")
