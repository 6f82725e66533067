"""Eq. 1: sampling, log-probabilities and entropy against a transcription with loops, and against SciPy."""

from __future__ import annotations

import time

import numpy as np
import pytest
from brute_force_task import contexts, next_token, sequences_through_all_contexts
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from headwise.core.errors import ConfigError
from headwise.core.seeds import Stream, generator
from headwise.task import Task, TaskConfig, build_task, entropy, log_probabilities, predictor, prefix_names, sample

SMALL = TaskConfig(d=3, w=3, h=3, T=20, m=1.5, b0=0.7)
VARIANTS = [
    SMALL,
    TaskConfig(d=3, w=3, h=2, groups=((3, 1), (2,)), alpha=((0.8, 0.2), (1.0,)), b0=1.0),
    TaskConfig(d=3, w=3, h=2, groups=((1, 2), (2, 3)), overlap="allow", alpha="sum", b0=1.0),
    TaskConfig(d=2, w=4, h=2, groups="reversed", alpha=(0.7, 0.3), features="correlated", correlation=0.4),
    TaskConfig(d=4, w=4, h=2, groups="singleton", features="frobenius"),
]


@pytest.fixture(params=VARIANTS, ids=lambda c: f"{c.groups}-{c.features}")
def task(request: pytest.FixtureRequest) -> Task:
    return build_task(request.param, 3)


def test_a_million_transitions_follow_eq_1() -> None:
    task = build_task(SMALL, 0)
    d, w, T = 3, 3, 20
    x = sample(task, 50_000, generator(0, Stream.DATA))
    statistic, freedom = 0.0, 0
    observed = np.zeros((d,) * (w + 1))
    np.add.at(observed, tuple(x[:, w - lag : w - lag + T].ravel() for lag in (1, 2, 3, 0)), 1)
    assert observed.sum() == 1_000_000
    for context in contexts(task):
        counts = observed[context]
        expected = counts.sum() * next_token(task, context)
        assert expected.min() > 5, "the chi-square law needs enough expected counts in every cell"
        statistic += stats.chisquare(counts, expected).statistic
        freedom += d - 1
    assert freedom == 54
    assert stats.chi2.sf(statistic, freedom) > 1e-4


def test_the_chi_square_sees_a_wrong_lag() -> None:
    """The same statistic with two lags exchanged: the check above can fail."""
    task = build_task(SMALL, 0)
    x = sample(task, 5_000, generator(0, Stream.DATA))
    counts = np.zeros((3,) * 4)
    np.add.at(counts, tuple(x[:, 3 - lag : 23 - lag].ravel() for lag in (2, 1, 3, 0)), 1)
    chi = [
        stats.chisquare(counts[c], counts[c].sum() * next_token(task, c)).statistic
        for c in contexts(task)
    ]  # fmt: skip
    assert stats.chi2.sf(sum(chi), 54) < 1e-12


def test_initial_tokens_are_uniform_and_independent() -> None:
    task = build_task(TaskConfig(d=5, w=2, h=2, T=1), 1)
    x = sample(task, 100_000, np.random.default_rng(5))
    counts = np.bincount(x[:, 0] * 5 + x[:, 1], minlength=25)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_sampling_is_reproducible_and_a_small_sample_begins_a_large_one(task: Task) -> None:
    large = sample(task, 1500, np.random.default_rng(7))
    assert large.dtype == np.int64
    assert large.shape == (1500, task.config.w + task.config.T)
    assert large.min() >= 0
    assert large.max() < task.config.d
    np.testing.assert_array_equal(large[:600], sample(task, 600, np.random.default_rng(7)))
    assert (large != sample(task, 1500, np.random.default_rng(8))).any()


def test_peaked_chains_are_sampled_without_overflow() -> None:
    task = build_task(TaskConfig(d=4, w=2, h=1, b0=1e5), 0)
    x = sample(task, 200, np.random.default_rng(0))
    log_p = log_probabilities(task, x)
    assert np.isfinite(log_p).all()
    np.testing.assert_array_equal(x[:, 2:], log_p.argmax(-1))
    assert np.isfinite(entropy(log_p)).all()


def test_the_full_task_is_sampled_quickly() -> None:
    task = build_task(TaskConfig(w=12), 0)
    start = time.process_time()
    sample(task, 12_000, np.random.default_rng(0))
    assert time.process_time() - start < 2.0


@pytest.mark.parametrize("groups", [None, (1,), (2,), (2, 1)])
def test_log_probabilities_of_any_groups_match_the_transcription(task: Task, groups: tuple[int, ...] | None) -> None:
    got = log_probabilities(task, sequences_through_all_contexts(task), groups)
    want = np.log([next_token(task, context, groups) for context in contexts(task)])
    np.testing.assert_allclose(got[:, 0], want, rtol=0, atol=1e-12)


def test_prefix_predictors_match_enumeration(task: Task) -> None:
    x = sequences_through_all_contexts(task)
    assert prefix_names(task) == [f"prefix_{i}" for i in range(1, task.config.h + 1)]
    for i, name in enumerate(prefix_names(task), start=1):
        want = np.log([next_token(task, context, range(1, i + 1)) for context in contexts(task)])
        np.testing.assert_allclose(predictor(task, name)(x)[:, 0], want, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(predictor(task, f"prefix_{task.config.h}")(x), log_probabilities(task, x))
    second = np.log([next_token(task, context, [2]) for context in contexts(task)])
    np.testing.assert_allclose(predictor(task, "groups_2")(x)[:, 0], second, rtol=0, atol=1e-12)


def test_every_position_of_a_sequence_looks_at_its_own_past(task: Task) -> None:
    w, T = task.config.w, task.config.T
    x = sample(task, 3, np.random.default_rng(2))
    log_p = log_probabilities(task, x)
    for n in range(3):
        for t in range(T):
            context = tuple(int(x[n, w + t - lag]) for lag in range(1, w + 1))
            np.testing.assert_allclose(np.exp(log_p[n, t]), next_token(task, context), rtol=0, atol=1e-12)


def test_the_order_of_a_groups_lags_carries_its_weights() -> None:
    """alpha is given in the order the group lists its lags."""
    one = build_task(TaskConfig(d=3, w=2, h=1, groups=((2, 1),), alpha=(0.9, 0.1)), 0)
    other = build_task(TaskConfig(d=3, w=2, h=1, groups=((1, 2),), alpha=(0.1, 0.9)), 0)
    np.testing.assert_array_equal(one.lag_tables, other.lag_tables)


def test_entropy_matches_scipy(task: Task) -> None:
    log_p = log_probabilities(task, sample(task, 20, np.random.default_rng(0)))
    np.testing.assert_allclose(entropy(log_p), stats.entropy(np.exp(log_p), axis=-1), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(entropy(np.array([0.0, -np.inf])), 0.0)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_layout_any_weights(data: st.DataObject) -> None:
    """Random groups (overlapping or not, not covering every lag), random alpha: tables equal the transcription."""
    d, w, h = data.draw(st.integers(2, 3)), data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    lag_set = st.lists(st.integers(1, w), min_size=1, max_size=w, unique=True).map(tuple)
    groups = data.draw(st.tuples(*[lag_set] * h))
    alpha = tuple(data.draw(st.tuples(*[st.floats(0.01, 2.0)] * len(g))) for g in groups)
    features = data.draw(st.sampled_from(("haar", "frobenius", "correlated")))
    config = TaskConfig(d=d, w=w, h=h, T=2, groups=groups, overlap="allow", alpha=alpha, features=features, b0=1.0)
    task = build_task(config, data.draw(st.integers(0, 10)))
    got = log_probabilities(task, sequences_through_all_contexts(task))[:, 0]
    want = np.log([next_token(task, context) for context in contexts(task)])
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-11)


def test_arrays_of_a_task_are_read_only() -> None:
    task = build_task(SMALL, 0)
    for array in (task.features, task.weights, task.lag_tables):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_the_seed_draws_the_features_and_nothing_else_does() -> None:
    one = build_task(SMALL, 0)
    np.testing.assert_array_equal(one.features, build_task(SMALL, 0).features)
    assert (one.features != build_task(SMALL, 1).features).any()
    longer = build_task(SMALL.changed({"T": 7, "alpha": "sum"}), 0)
    np.testing.assert_array_equal(one.features, longer.features)


@pytest.mark.parametrize(
    ("sequences", "said"),
    [
        (np.zeros((2, 3), dtype=int), "task.w"),
        (np.zeros((2, 9)), "integers"),
        (np.full((2, 9), 3), "task.d"),
        (np.full((2, 9), -1), "task.d"),
    ],
)
def test_sequences_that_cannot_be_read_are_refused(sequences: np.ndarray, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        log_probabilities(build_task(SMALL, 0), sequences)


@pytest.mark.parametrize(
    "name", ["prefix_0", "prefix_4", "prefix_1_2", "groups_1_1", "groups_9", "bayes_4", "bayes_wrong_1", "window_4", ""]
)
def test_unknown_predictors_are_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=r"predictor|groups") as caught:
        predictor(build_task(SMALL, 0), name)
    assert "\n" not in str(caught.value)
