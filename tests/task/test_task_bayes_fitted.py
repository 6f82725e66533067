"""The fitted Bayes predictor against enumeration, and what it says of itself."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pytest

from headwise.task import bayes, bayes_fitted
from headwise.task.bayes import bayes_predictor
from headwise.task.bayes_fitted import CONVERGED, Fit
from headwise.task.chain import Task, build_task, log_probabilities, sample
from headwise.task.config import TaskConfig

TASKS = {
    "nearest": (TaskConfig(d=6, w=4, h=2, T=10, b0=4.0, alpha="sum"), (1, 2)),
    "furthest": (TaskConfig(d=6, w=4, h=2, T=10, b0=4.0, alpha="sum", groups="reversed"), (3, 4)),
    "one of two": (TaskConfig(d=8, w=2, h=2, T=10, b0=5.0), (1,)),
}


@pytest.fixture
def fits_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enumeration and sampling out of reach, and a short fit."""
    monkeypatch.setattr(bayes, "LARGEST_ENUMERATION", 0)
    monkeypatch.setattr(bayes, "MOST_VISIBLE", 0)
    monkeypatch.setattr(bayes_fitted, "STEPS", 200)
    monkeypatch.setattr(bayes_fitted, "WIDTH", 128)


def expected_loss(task: Task, log_q: np.ndarray, sequences: np.ndarray) -> float:
    return -float((np.exp(log_probabilities(task, sequences)) * log_q).sum(-1).mean())


@pytest.mark.parametrize("name", list(TASKS))
def test_the_fit_comes_within_a_hundredth_of_a_nat_of_enumeration(name: str, request: pytest.FixtureRequest) -> None:
    config, visible = TASKS[name]
    task = build_task(config, 0)
    sequences = sample(task, 4000, np.random.default_rng(1))
    exact = bayes_predictor(task, visible)
    uniform = bayes_predictor(task, visible, law="uniform")
    request.getfixturevalue("fits_only")
    fitted = bayes_predictor(task, visible)
    assert (exact.method, fitted.method) == ("exact", "fitted")
    best, found = (expected_loss(task, one(sequences), sequences) for one in (exact, fitted))
    assert best < found + 1e-3  # nothing beats the optimum beyond what these sequences allow
    assert found < best + 0.01
    if name == "nearest":
        assert expected_loss(task, uniform(sequences), sequences) > best + 0.02, "the test would not tell them apart"
    assert fitted.converged
    p = np.exp(fitted(sequences[:3]))
    np.testing.assert_allclose(p.sum(-1), 1.0, rtol=0, atol=1e-9)


@pytest.mark.usefixtures("fits_only")
def test_only_the_visible_lags_are_seen() -> None:
    config, visible = TASKS["nearest"]
    task = build_task(config, 0)
    fitted = bayes_predictor(task, visible)
    sequences = sample(task, 1, np.random.default_rng(0))
    changed = sequences.copy()
    changed[0, 0] = (changed[0, 0] + 1) % config.d  # lag 4 of the first prediction and of no other
    np.testing.assert_array_equal(fitted(changed), fitted(sequences))


@pytest.mark.usefixtures("fits_only")
def test_what_is_remembered_makes_the_same_predictor() -> None:
    config, visible = TASKS["nearest"]
    task, other = build_task(config, 0), build_task(config, 1)
    kept: dict[str, Mapping[str, np.ndarray]] = {}
    asked: list[str] = []

    def remember(key: str, compute: bayes.Compute) -> Mapping[str, np.ndarray]:
        asked.append(key)
        if key not in kept:
            kept[key] = compute()
        return kept[key]

    first, again = (bayes_predictor(task, visible, remember=remember) for _ in range(2))
    sequences = sample(task, 20, np.random.default_rng(0))
    np.testing.assert_array_equal(first(sequences), again(sequences))
    np.testing.assert_array_equal(first(sequences), bayes_predictor(task, visible)(sequences))
    bayes_predictor(task, (1,), remember=remember)
    bayes_predictor(other, visible, remember=remember)
    bayes_predictor(task, visible, seed=1, remember=remember)
    assert len(asked) == 5
    assert len(set(asked)) == len(kept) == 4, "other lags, another task and another seed have keys of their own"


def test_convergence_needs_agreement_and_a_flat_end() -> None:
    far = 1.5 * CONVERGED
    for apart, gained in itertools.product((0.0, far), (0.0, far)):
        fit = Fit((1.0, 1.0 + apart), (1.0 + gained, 1.0 + gained + apart), 1.0)
        assert fit.converged == (apart == gained == 0.0)


@pytest.mark.usefixtures("fits_only")
def test_a_third_start_decides_where_the_first_two_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start with logits that are much too large ends elsewhere; another one has to come to the loss of the better."""
    config, visible = TASKS["nearest"]
    task = build_task(config, 0)
    agreed = bayes_fitted.fit_of(bayes_fitted.fit_restricted(task, visible))
    assert len(agreed.losses) == 2
    monkeypatch.setattr(bayes_fitted, "STARTS", (0.25, 60.0))
    found = bayes_fitted.fit_of(bayes_fitted.fit_restricted(task, visible))
    assert len(found.losses) == len(found.before) == 3
    assert found.losses[1] - found.losses[0] > CONVERGED
    assert abs(found.losses[2] - found.losses[0]) <= CONVERGED
    assert found.converged
    assert found.taken == pytest.approx(agreed.taken, abs=0.01)


@pytest.mark.usefixtures("fits_only")
def test_starts_are_added_one_at_a_time_until_one_joins_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """On one machine the fit for SGD's task missed its limit by a two thousandth of a nat, elsewhere it kept it."""
    config, visible = TASKS["nearest"]
    task = build_task(config, 0)
    monkeypatch.setattr(bayes_fitted, "STARTS", (0.25, 60.0))
    monkeypatch.setattr(bayes_fitted, "FURTHER_STARTS", (40.0, 0.125))
    found = bayes_fitted.fit_of(bayes_fitted.fit_restricted(task, visible))
    assert len(found.losses) == len(found.before) == 4
    assert not Fit(found.losses[:3], found.before[:3], found.taken).converged
    assert found.converged
    monkeypatch.setattr(bayes_fitted, "FURTHER_STARTS", (40.0, 60.0))
    assert not bayes_fitted.fit_of(bayes_fitted.fit_restricted(task, visible)).converged


def test_one_start_that_nobody_joins_has_not_converged() -> None:
    assert Fit((1.0, 1.01, 2.0), (1.0, 1.01, 2.0), 1.0).converged
    assert not Fit((1.0, 1.5, 2.0), (1.0, 1.5, 2.0), 1.0).converged
    assert not Fit((1.0, 1.01), (1.05, 1.06), 1.0).converged
