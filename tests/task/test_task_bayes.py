"""Bayes predictors against enumeration with loops, in every law; sampled ones against exact ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from brute_force_task import conditional, contexts, law_of_contexts, next_token, sequences_through_all_contexts

from headwise.core.errors import ConfigError
from headwise.task import Task, TaskConfig, bayes, bayes_predictor, build_task, log_probabilities, predictor, sample
from headwise.task.bayes_exact import mean_softmax
from headwise.task.bayes_sampled import sampled_chain_table, sampled_uniform_table
from headwise.task.chain import log_softmax

CONFIGS = {
    "singleton": TaskConfig(d=3, w=3, h=3, T=5, m=1.7, b0=1.5),
    "reversed": TaskConfig(d=3, w=3, h=3, T=5, groups="reversed", b0=1.0),
    "overlap": TaskConfig(d=3, w=3, h=2, T=4, groups=((1, 3), (2, 3)), overlap="allow", alpha="sum", b0=1.0),
    "gap": TaskConfig(d=3, w=3, h=2, T=4, groups=((1,), (3,)), b0=2.0),
}


@pytest.fixture(params=CONFIGS, ids=str)
def task(request: pytest.FixtureRequest) -> Task:
    return build_task(CONFIGS[request.param], 1)


SUBSETS = [s for size in (1, 2, 3) for s in itertools.combinations((1, 2, 3), size)]


def pooled(task: Task) -> dict[tuple[int, ...], float]:
    laws = [law_of_contexts(task, t) for t in range(1, task.config.T + 1)]
    return {context: sum(law[context] for law in laws) / len(laws) for context in laws[0]}


def by_context(task: Task, table: dict[tuple[int, ...], np.ndarray], visible: tuple[int, ...]) -> np.ndarray:
    return np.log([table[tuple(c[lag - 1] for lag in visible)] for c in contexts(task)])


@pytest.mark.parametrize("visible", SUBSETS, ids=str)
def test_chain_law_equals_enumeration(task: Task, visible: tuple[int, ...]) -> None:
    found = bayes_predictor(task, visible, law="chain")
    assert found.method in ("exact", "complete")
    want = by_context(task, conditional(task, pooled(task), visible), visible)
    got = found(sequences_through_all_contexts(task))[:, 0]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("visible", SUBSETS, ids=str)
def test_uniform_law_equals_enumeration_and_the_first_position(task: Task, visible: tuple[int, ...]) -> None:
    x = sequences_through_all_contexts(task)
    want = by_context(task, conditional(task, law_of_contexts(task, 1), visible), visible)
    np.testing.assert_allclose(bayes_predictor(task, visible, law="uniform")(x)[:, 0], want, rtol=0, atol=1e-12)
    np.testing.assert_allclose(bayes_predictor(task, visible, law="position")(x)[:, 0], want, rtol=0, atol=1e-12)


def test_position_law_equals_enumeration_at_every_position(task: Task) -> None:
    w, T, visible = task.config.w, task.config.T, (1,)
    x = sample(task, 40, np.random.default_rng(0))
    got = bayes_predictor(task, visible, law="position")(x)
    for t in range(1, T + 1):
        table = conditional(task, law_of_contexts(task, t), visible)
        want = np.log([table[(int(token),)] for token in x[:, w + t - 2]])
        np.testing.assert_allclose(got[:, t - 1], want, rtol=0, atol=1e-12)


def test_every_predictor_by_name_is_its_law_with_the_prefix_lags(task: Task) -> None:
    x = sample(task, 30, np.random.default_rng(1))
    lags = tuple(sorted(task.lags[0]))
    for name, law in (("bayes_1", "chain"), ("bayes_uniform_1", "uniform"), ("bayes_position_1", "position")):
        np.testing.assert_array_equal(predictor(task, name)(x), bayes_predictor(task, lags, law=law)(x))
    np.testing.assert_array_equal(predictor(task, f"bayes_{task.config.h}")(x), log_probabilities(task, x))


def expected_loss(task: Task, log_p: np.ndarray, x: np.ndarray) -> float:
    """Cross entropy from Eq. 1, next tokens integrated out."""
    return float(-(np.exp(log_probabilities(task, x)) * log_p).sum(-1).mean())


def test_knowing_more_predicts_better() -> None:
    """position <= chain <= uniform and Eq. 2, in expectation over the law of sequences, computed without sampling."""
    task = build_task(CONFIGS["singleton"], 1)
    w, T = task.config.w, task.config.T
    laws = [law_of_contexts(task, t) for t in range(1, T + 1)]
    x = sequences_through_all_contexts(task)
    truth = np.array([next_token(task, c) for c in contexts(task)])

    def loss(log_p: np.ndarray) -> float:
        return float(
            np.mean([-sum(law[c] * truth[n] @ log_p[t, n] for n, c in enumerate(contexts(task)))
                     for t, law in enumerate(laws)])
        )  # fmt: skip

    def everywhere(name: str) -> np.ndarray:
        if "position" not in name:
            return np.repeat(predictor(task, name)(x)[None, :, 0], T, axis=0)
        # Context c stands at position t when t - 1 tokens come before it.
        padded = [np.concatenate([np.zeros((len(x), t), dtype=int), x], axis=1) for t in range(T)]
        return np.stack([predictor(task, name)(p)[:, -1] for p in padded])

    assert x.shape[1] == w + 1
    losses = [loss(everywhere(n)) for n in ("prefix_3", "bayes_2", "bayes_position_1", "bayes_1", "bayes_uniform_1")]
    assert losses == sorted(losses)
    assert losses[3] > losses[2] + 1e-6
    assert losses[4] > losses[3] + 1e-6
    assert loss(everywhere("prefix_1")) > losses[3] + 1e-3


def test_peaked_chains_keep_finite_log_probabilities() -> None:
    """Norms so large that probabilities underflow: factors of exponentials would be 0/0."""
    task = build_task(TaskConfig(d=3, w=3, h=3, T=6, m=1.2, b0=900.0), 0)
    x = sample(task, 50, np.random.default_rng(0))
    for name in ("bayes_1", "bayes_2", "bayes_uniform_1", "bayes_uniform_2", "bayes_position_1"):
        log_p = predictor(task, name)(x)
        assert np.isfinite(log_p).all()
        np.testing.assert_allclose(np.exp(log_p).sum(-1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 30.0, 2000.0])
@pytest.mark.parametrize("power", [1, 2])
def test_mean_softmax_equals_the_plain_average(scale: float, power: int) -> None:
    rng = np.random.default_rng(0)
    seen, hidden = scale * rng.uniform(-1, 1, (7, 4)), scale * rng.uniform(-1, 1, (11, 4))
    log_p = power * log_softmax(seen[:, None] + hidden)
    want = np.logaddexp.reduce(log_p, axis=1) - np.log(11)
    np.testing.assert_allclose(mean_softmax(seen, hidden, power=power), want, rtol=1e-12, atol=1e-12)


def standardised(error: np.ndarray, standard_error: np.ndarray) -> np.ndarray:
    return (error / standard_error).ravel()


def test_sampled_tables_agree_with_exact_ones_within_their_standard_errors() -> None:
    task = build_task(TaskConfig(d=4, w=4, h=2, T=10, b0=2.0), 2)
    visible, hidden = (1, 2), (3, 4)
    x = np.array([(0, 0, b, a, 0) for a in range(4) for b in range(4)])
    for law, sampler in (("chain", sampled_chain_table), ("uniform", sampled_uniform_table)):
        found = bayes_predictor(task, visible, law=law)
        assert found.method == "exact"
        exact = np.exp(found(x)[:, 0])
        tables = [sampler(task, visible, hidden, samples=10_000, seed=seed) for seed in range(60)]
        z = np.array([standardised(np.exp(table.log_p) - exact, table.standard_error) for table in tables])
        assert np.abs(z).max() < 5.0, law
        assert 0.85 < np.sqrt(np.mean(z**2)) < 1.15, law
        assert all(9_000 < table.samples < 20_000 for table in tables)
        more = sampler(task, visible, hidden, samples=40_000, seed=4)
        assert 0.4 < more.standard_error.mean() / tables[0].standard_error.mean() < 0.6, law


def test_the_chain_sampler_is_told_apart_from_the_uniform_one() -> None:
    task = build_task(TaskConfig(d=4, w=4, h=2, T=10, b0=2.0), 2)
    x = np.array([(0, 0, b, a, 0) for a in range(4) for b in range(4)])
    uniform = np.exp(bayes_predictor(task, (1, 2), law="uniform")(x)[:, 0])
    table = sampled_chain_table(task, (1, 2), (3, 4), samples=40_000, seed=3)
    assert np.abs(standardised(np.exp(table.log_p) - uniform, table.standard_error)).max() > 10


def test_a_chain_of_one_position_is_uniform() -> None:
    task = build_task(TaskConfig(d=4, w=4, h=2, T=1, b0=2.0), 2)
    chain = sampled_chain_table(task, (1, 2), (3, 4), samples=1000)
    np.testing.assert_array_equal(chain.log_p, sampled_uniform_table(task, (1, 2), (3, 4), samples=1000).log_p)


def test_large_tasks_are_sampled_and_the_largest_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bayes, "LARGEST_ENUMERATION", 4**4)
    monkeypatch.setattr(bayes, "MOST_HIDDEN", 4**2)
    monkeypatch.setattr(bayes, "MOST_VISIBLE", 4**2)
    task = build_task(TaskConfig(d=4, w=6, h=3, T=3, b0=1.0), 0)
    x = sample(task, 5, np.random.default_rng(0))
    for name in ("bayes_1", "bayes_uniform_1"):
        found = predictor(task, name)
        assert isinstance(found, bayes.BayesPredictor)
        assert found.method == "sampled"
        assert found.samples > 0
        assert found.standard_error is not None
        assert found.standard_error.shape == (16, 4)
        np.testing.assert_allclose(np.exp(found(x)).sum(-1), 1.0, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(found(x), predictor(task, name)(x))
        assert (found(x) != predictor(task, name, seed=1)(x)).any()
    assert bayes_predictor(task, task.lags[0] + task.lags[1], law="uniform").method == "exact"
    monkeypatch.setattr(bayes.bayes_fitted, "LARGEST_NETWORK", 100)
    with pytest.raises(ConfigError, match=r"use law uniform, or .*measure\.windows = \[4\]"):
        predictor(task, "bayes_2")
    with pytest.raises(ConfigError, match=r"use law chain, or .*measure\.windows"):
        predictor(task, "bayes_position_1")
    with pytest.raises(ConfigError, match=r"measure\.windows = \[3\]") as caught:
        bayes_predictor(task, (1, 2, 3), law="uniform")
    assert "\n" not in str(caught.value)


def test_the_papers_sizes_are_sampled_exact_or_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """d = 50, w = 6: one group sampled, two groups exact under the uniform law only, else fitted, as in w = 12."""
    task = build_task(TaskConfig(alpha="sum"), 0)
    x = sample(task, 40, np.random.default_rng(0))
    uniform = predictor(task, "bayes_uniform_2")
    assert isinstance(uniform, bayes.BayesPredictor)
    assert uniform.method == "exact"
    first = bayes_predictor(task, (1, 2), samples=100_000)
    assert first.method == "sampled"
    assert expected_loss(task, first(x), x) < expected_loss(task, predictor(task, "prefix_1")(x), x)
    monkeypatch.setattr(bayes.bayes_fitted, "STEPS", 4)
    for one, name in ((task, "bayes_2"), (build_task(TaskConfig(w=12), 0), "bayes_1")):
        found = predictor(one, name)
        assert isinstance(found, bayes.BayesPredictor)
        assert found.method == "fitted"


@pytest.mark.parametrize("visible", [(), (0,), (4,), (1, 9)])
def test_lags_that_do_not_exist_are_refused(visible: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match=r"task\.w"):
        bayes_predictor(build_task(CONFIGS["singleton"], 0), visible)


def test_the_position_law_refuses_longer_sequences() -> None:
    task = build_task(CONFIGS["singleton"], 0)
    with pytest.raises(ConfigError, match=r"task\.T"):
        predictor(task, "bayes_position_1")(np.zeros((1, 20), dtype=int))
