"""Each measured quantity against its definition, written out the slow way."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, rel_entr

from headwise.measure.attention import by_lag
from headwise.measure.config import Schedule
from headwise.measure.evaluation import Evaluator
from headwise.measure.function import FunctionSpace
from headwise.measure.values import align, value_circuits
from headwise.model.config import FULL_PUBLISHED, ModelConfig
from headwise.model.construction import construct
from headwise.model.decoder import Decoder
from headwise.model.initialise import initialise
from headwise.model.input_rows import input_rows
from headwise.model.reference import ReferenceEngine
from headwise.task.chain import build_task, log_probabilities, sample
from headwise.task.config import TaskConfig
from headwise.task.predictors import predictor, prefix_names


def test_divergences_are_their_definitions() -> None:
    rng = np.random.default_rng(0)
    laws = {name: log_softmax(rng.normal(size=(7, 4, 5)) * 3, axis=-1) for name in ("a", "b", "teacher")}
    logits = rng.normal(size=(7, 4, 5))
    targets = rng.integers(0, 5, (7, 4))
    space = FunctionSpace(
        laws, teacher=laws["teacher"], targets=torch.from_numpy(targets), like=torch.zeros(1, dtype=torch.float64)
    )
    for part in (slice(0, 3), slice(3, 7)):
        space.visit(part, torch.from_numpy(logits[part]))
    model = log_softmax(logits, axis=-1)
    for index, name in enumerate(laws):
        forward = rel_entr(np.exp(laws[name]), np.exp(model)).sum(-1).mean()
        backward = rel_entr(np.exp(model), np.exp(laws[name])).sum(-1).mean()
        assert space.kl()[index] == pytest.approx(forward, abs=1e-12)
        assert space.kl_reverse()[index] == pytest.approx(backward, abs=1e-12)
    at_targets = [np.take_along_axis(x, targets[..., None], -1).mean() for x in (model, laws["teacher"])]
    assert space.loss() == pytest.approx(-at_targets[0], abs=1e-12)
    assert space.excess_loss() == pytest.approx(at_targets[1] - at_targets[0], abs=1e-12)
    whole = space.loss()
    space.reset()
    for part in (slice(0, 3), slice(3, 7)):
        space.visit_for_loss(part, torch.from_numpy(logits[part]))
    assert space.loss() == whole, "a validation has the bits of the measured loss: schedules decide by it"


def test_by_lag_counts_the_query_itself_as_lag_one() -> None:
    rng = np.random.default_rng(0)
    maps = rng.random((2, 3, 4, 6)) * np.tri(4, 6, 2)
    expected = np.zeros((2, 3, 6))
    for q in range(4):
        for key in range(6):
            lag = (6 - 4 + q) + 1 - key
            if lag >= 1:
                expected[..., lag - 1] += maps[..., q, key] / 4
    assert np.allclose(by_lag(maps), expected, atol=1e-15)


def test_alignment_recovers_coefficients_of_overlapping_features() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(3, 4, 4))
    directions = features / np.linalg.norm(features, axis=(1, 2), keepdims=True)
    coefficients = rng.normal(size=(2, 5, 3))
    aligned = align(np.einsum("bhk,kij->bhij", coefficients, directions), features)
    assert np.allclose(aligned.coefficient, coefficients, atol=1e-12)
    assert not np.allclose(aligned.inner, coefficients, atol=1e-2), "overlapping features must differ here"
    assert np.all(np.abs(aligned.cosine) <= 1 + 1e-12)
    alone = align(directions[None, :1], features)
    assert alone.cosine[0, 0, 0] == pytest.approx(1)
    assert np.all(align(np.zeros((1, 1, 4, 4)), features).cosine == 0)


def test_value_circuit_is_what_a_head_writes_for_a_token() -> None:
    """Attention forced onto one key: the change of the logits between two tokens there is the circuit's difference."""
    config = FULL_PUBLISHED.changed({"width": 12, "norm": "none", "residual": "off", "mlp": 0, "heads": 1})
    decoder = Decoder(config, dictionary=5, positions=3).double()
    initialise(decoder, 0)
    with torch.no_grad():
        decoder.layers[0].attention.query_HED.zero_()
    circuit = value_circuits(decoder)[0, 0]
    a, b = torch.tensor([[0, 1, 2]]), torch.tensor([[0, 3, 2]])
    change = (decoder(b, 1)[0] - decoder(a, 1)[0])[0, 0].detach().numpy()
    assert np.allclose(change, (circuit[:, 3] - circuit[:, 1]) / 3, atol=1e-12)


@pytest.mark.parametrize("alpha", ["uniform", "sum", (0.7, 0.3)])
def test_the_construction_measures_as_perfect(alpha: object) -> None:
    task = build_task(TaskConfig(d=6, T=5, alpha=alpha), 0)
    sequences = sample(task, 200, np.random.default_rng(0))
    decoder = construct(task.features, task.lags, task.alpha, positions=10, sharpness=40.0)
    predictors = {name: predictor(task, name)(sequences) for name in prefix_names(task)}
    evaluator = Evaluator(
        ReferenceEngine(decoder, dropout_seed=0, chunk=50),
        task=task,
        test=input_rows(torch.from_numpy(sequences), ModelConfig(), predicted=5),
        predictors=predictors,
        teacher=log_probabilities(task, sequences),
    )
    found = evaluator.measure(batch_loss=0.0, rate=0.1).variables
    assert abs(float(found["excess_loss"])) < 1e-8
    assert found["kl"][-1] == pytest.approx(0, abs=1e-8)
    assert found["kl"][0] > found["kl"][1] > 0.1
    assert np.allclose(found["attention_by_group"][0], np.eye(3), atol=1e-10)
    weights = np.array(task.alpha[0]) / sum(task.alpha[0])
    assert np.allclose(found["attention_by_lag"][0, 0, :2], weights, atol=1e-10)
    expected = np.linalg.norm(task.features, axis=(1, 2)) * [sum(a) for a in task.alpha]
    assert np.allclose(found["value_coefficient"][0], np.diag(expected), atol=1e-8)
    assert np.allclose(found["head_overlap"][0], np.eye(3), atol=1e-10)
    entropy = -(weights * np.log(weights)).sum()
    assert np.allclose(found["attention_entropy"], entropy, atol=1e-8)


def test_schedule_can_be_dense_where_something_happens() -> None:
    schedule = Schedule(every=50, dense=((20, 30, 2), (90, 91, 1)))
    expected = sorted({0, 50, 100, 101, *range(20, 31, 2), 90, 91})
    assert schedule.steps(101) == expected
