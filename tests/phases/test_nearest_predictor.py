"""The nearest n-gram predictor over training: models that are known mixtures of predictors counted on drawn chains."""

from __future__ import annotations

import json
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import rel_entr

from headwise.baselines.corpus import as_corpus
from headwise.baselines.divergences import between_predictors
from headwise.baselines.predictors import NAMES, count_predictors
from headwise.core.trajectory import assemble
from headwise.phases.config import DEFAULT
from headwise.phases.detection import detect
from headwise.phases.function import FunctionView, read_function
from headwise.phases.nearest_predictor import _cheapest

V, LENGTH = 6, 24
STEPS = np.arange(0, 610, 10)
PASSED = ["ngram_0", "ngram_1", "ngram_2", "ngram_3"]


def chain(order: int, rows: int, *, seed: int) -> np.ndarray:
    """Sequences in which the last `order` tokens decide the law of the next, the last one most."""
    law, rng = np.random.default_rng(5), np.random.default_rng(seed)
    logits = np.zeros((V,) * order + (V,)) + 0.8 * law.standard_normal(V)
    for size in range(1, order + 1):
        logits = logits + 1.4 * law.standard_normal((V,) * size + (V,))
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    ids = rng.integers(V, size=(rows, LENGTH))
    for t in range(order, LENGTH):
        # The table's last context index is the last token.
        law_of_next = p[tuple(ids[:, t - order + k] for k in range(order))]
        ids[:, t] = (rng.random(rows)[:, None] > law_of_next.cumsum(-1)).sum(-1).clip(max=V - 1)
    return ids


def predictors_of(order: int) -> tuple[np.ndarray, np.ndarray]:
    """All predictors of such a chain written out, (K, P, V), and the distances between them."""
    batch = chain(order, 12, seed=1)
    whole = np.ones(batch.shape, dtype=bool)
    corpus = as_corpus(chain(order, 4000, seed=2))
    found = count_predictors(corpus, batch, valid_BS=whole, counted_BS=whole, vocabulary=V)
    return np.concatenate([p for _, p in found.written_out()], axis=1), between_predictors(found).between_KK


def moving(p_KPV: np.ndarray, stops: list[str], *, noise: float = 0.0, steps: np.ndarray = STEPS) -> np.ndarray:
    """KL curves of a model that moves from one predictor to the next, each stop as long, straight in log space."""
    rng = np.random.default_rng(0)
    place = np.linspace(0, len(stops) - 1, len(steps))
    log_stops = np.log(p_KPV[[NAMES.index(name) for name in stops]])
    kl = []
    for at in place:
        low = min(int(at), max(len(stops) - 2, 0))
        # Half of the time is spent near a stop.
        share = np.clip((at - low) * 2 - 0.5, 0, 1)
        logits = log_stops[low] if len(stops) == 1 else (1 - share) * log_stops[low] + share * log_stops[low + 1]
        logits = logits + noise * rng.standard_normal(logits.shape[-1])
        q_PV = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        kl.append(rel_entr(p_KPV, q_PV).sum(-1).mean(-1))
    return np.array(kl)


def labels(view: FunctionView) -> list[str]:
    return [stretch.predictor for stretch in view.nearest]


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_model_that_passes_n_0_to_3_is_seen_to_pass_them_in_order(noise: float) -> None:
    p_KPV, between = predictors_of(2)
    view = read_function(STEPS, moving(p_KPV, PASSED, noise=noise), NAMES, DEFAULT, between=between)
    assert labels(view) == PASSED
    assert [stage.label for stage in view.stages] == PASSED
    assert view.order == "holds"
    for stretch, (low, high) in zip(view.nearest[1:], pairwise([0, 200, 400, 600]), strict=True):
        assert low < stretch.start < high
        assert stretch.interval[0] <= stretch.start <= stretch.interval[1]
        assert stretch.interval[1] - stretch.interval[0] == 10
    assert [point.passed for point in view.closest if point.predictor in PASSED] == [True, True, True, False]
    assert all(point.nats < 0.02 for point in view.closest if point.predictor in PASSED)


def test_a_crossing_is_where_two_curves_meet() -> None:
    p_KPV, between = predictors_of(2)
    kl = moving(p_KPV, ["ngram_1", "ngram_2"])
    view = read_function(STEPS, kl, NAMES, DEFAULT, between=between)
    fine = np.linspace(0, 600, 60001)
    one, two = (np.interp(fine, STEPS, kl[:, NAMES.index(name)]) for name in ("ngram_1", "ngram_2"))
    assert view.nearest[1].start == pytest.approx(fine[np.flatnonzero(two < one)[0]], abs=0.02)


def test_another_order_is_told_as_it_is() -> None:
    p_KPV, between = predictors_of(2)
    view = read_function(STEPS, moving(p_KPV, ["ngram_2", "ngram_1", "ngram_0"]), NAMES, DEFAULT, between=between)
    assert labels(view) == ["ngram_2", "ngram_1", "ngram_0"]
    assert view.order == "does not apply"


def test_predictors_that_do_not_differ_are_not_told_apart() -> None:
    p_KPV, between = predictors_of(1)
    view = read_function(STEPS, moving(p_KPV, ["ngram_0", "ngram_1", "ngram_4"]), NAMES, DEFAULT, between=between)
    assert labels(view) == ["ngram_0", "ngram_1", "ngram_2"]
    assert view.alike[0][:3] == ("ngram_2", "ngram_3", "ngram_4")
    assert view.undecided[0].what.startswith("the 2-gram, 3-gram")
    assert view.undecided[0].reason == "on this batch they differ by less than 0.02 nats"
    same = np.zeros((len(NAMES), len(NAMES)))
    nothing = read_function(STEPS, moving(p_KPV, ["ngram_0", "ngram_2"]), NAMES, DEFAULT, between=same)
    assert nothing.stages == nothing.nearest == ()
    assert nothing.order == "unreadable"


def test_a_model_that_learns_within_the_context_is_nearest_to_those_predictors() -> None:
    p_KPV, between = predictors_of(2)
    view = read_function(STEPS, moving(p_KPV, ["ngram_0", "context_1", "context_2"]), NAMES, DEFAULT, between=between)
    assert labels(view)[0] == "ngram_0"
    assert labels(view)[-1] == "context_2"


@pytest.mark.parametrize("seed", range(10))
def test_a_model_that_drifts_has_no_stages(seed: int) -> None:
    p_KPV, between = predictors_of(2)
    rng = np.random.default_rng(seed)
    drift = np.cumsum(0.1 * rng.standard_normal((len(STEPS), *p_KPV.shape[1:])), axis=0)
    q = np.exp(drift) / np.exp(drift).sum(-1, keepdims=True)
    kl = np.array([rel_entr(p_KPV, q_PV).sum(-1).mean(-1) for q_PV in q])
    view = read_function(STEPS, kl, NAMES, DEFAULT, between=between)
    assert view.stages == ()
    assert labels(view) == ["ngram_0"]
    assert view.order == "unreadable"


def test_a_predictor_that_is_never_the_nearest_makes_no_order() -> None:
    p_KPV, between = predictors_of(2)
    uniform, one = np.log(p_KPV[0]), np.log(p_KPV[1])
    kl = []
    for share in np.interp(STEPS, [0, 100, 200, 600], [0, 0.4, 0, 0]):
        logits = (1 - share) * uniform + share * one
        kl.append(rel_entr(p_KPV, np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)).sum(-1).mean(-1))
    view = read_function(STEPS, np.array(kl), NAMES, DEFAULT, between=between)
    assert "ngram_1" in [point.predictor for point in view.closest]
    assert labels(view) == ["ngram_0"]
    assert view.order == "unreadable"


def test_the_cheapest_path_is_that_of_enumeration() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        kl, cost = rng.random((6, 3)), rng.random() / 2

        def price(path: tuple[int, ...], kl: np.ndarray = kl, cost: float = cost) -> float:
            return float(kl[np.arange(6), list(path)].sum() + cost * sum(a != b for a, b in pairwise(path)))

        best = min(price(path) for path in product(range(3), repeat=6))
        assert price(tuple(_cheapest(kl, cost=cost))) == pytest.approx(best)


def test_the_report_says_nearest_and_never_is() -> None:
    p_KPV, between = predictors_of(2)
    kl = moving(p_KPV, PASSED)
    run = assemble({"kl": kl}, {"step": STEPS, "predictor": NAMES}, {"between_predictors": between.tolist()})
    report = detect(run)
    text = " ".join(str(report).split())
    assert "nearest to the uniform predictor" in text
    assert "to 600 nearest to the 3-gram predictor" in text
    assert "order of predictors holds: closest to the uniform predictor at 0, then the 1-gram predictor at" in text
    assert "cannot tell: the 3-gram" in text
    assert [item["what"][:10] for item in report.to_json()["undecided"]] == ["the 3-gram"]
    assert " is the " not in text
    document = report.to_json()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert [item["predictor"] for item in document["predictors"]["nearest"]] == PASSED
    assert [stage["label"] for stage in document["stages"]["function"]] == PASSED
    assert document["agreement"]["order"]["verdict"] == "holds"
    assert document["agreement"]["counts"] == {}
