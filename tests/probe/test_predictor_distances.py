"""Distances to n-gram predictors, against the divergence written out over the whole vocabulary."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import rel_entr

from headwise.baselines import predictors as bounds
from headwise.baselines.corpus import as_corpus
from headwise.baselines.predictors import NAMES, count_predictors
from headwise.core.errors import ConfigError
from headwise.probe.predictor_distances import PredictorDistances
from headwise.probe.sequences import as_batch

V = 9


def drawn(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(V - 1, size=shape)


def written_out(corpus: np.ndarray, batch: np.ndarray, valid: np.ndarray, counted: np.ndarray) -> np.ndarray:
    found = count_predictors(as_corpus(corpus), batch, valid_BS=valid, counted_BS=counted, vocabulary=V)
    return np.concatenate([p for _, p in found.written_out()], axis=1)


@pytest.mark.parametrize("queries", [None, 4])
@pytest.mark.parametrize("sizes", [(6,), (1, 3, 2)])
def test_both_directions_are_the_divergence_itself(queries: int | None, sizes: tuple[int, ...]) -> None:
    corpus, batch = drawn(30, 20, seed=1), drawn(6, 10, seed=2)
    mask = np.ones(batch.shape, dtype=int)
    mask[2, :5] = mask[4, 8:] = 0
    counted = np.zeros(batch.shape, dtype=bool)
    counted[:, -(queries or 10) :] = True
    p_KPV = written_out(corpus, batch, mask.astype(bool), counted)
    distances = PredictorDistances(
        corpus, as_batch({"input_ids": batch, "attention_mask": torch.as_tensor(mask)}), queries=queries
    )
    for seed in (3, 4):
        logits = torch.randn(*batch.shape, V, generator=torch.Generator().manual_seed(seed)) * 2
        distances.begin()
        for piece in logits.split(sizes):
            distances.add(piece)
        record = distances.record()
        q_PV = logits.double().softmax(-1).numpy()[counted & mask.astype(bool)]
        assert np.allclose(record["kl"], rel_entr(p_KPV, q_PV).sum(-1).mean(-1), atol=2e-6)
        assert np.allclose(record["kl_reverse"], rel_entr(q_PV, p_KPV).sum(-1).mean(-1), atol=2e-6)


@pytest.mark.parametrize("k", range(len(NAMES)))
def test_a_model_that_is_a_predictor_is_nowhere_else(k: int) -> None:
    corpus, batch = drawn(40, 25, seed=5), drawn(4, 12, seed=6)
    whole = np.ones(batch.shape, dtype=bool)
    p_KPV = written_out(corpus, batch, whole, whole)
    distances = PredictorDistances(corpus, as_batch(batch), queries=None)
    distances.add(torch.as_tensor(np.log(p_KPV[k])).reshape(4, 12, V))
    record, between = distances.record(), np.array(distances.attributes()["between_predictors"])
    assert record["kl"][k] < 2e-6
    assert record["kl_reverse"][k] < 2e-6
    assert np.allclose(record["kl"], between[:, k], atol=5e-6)
    assert np.allclose(record["kl_reverse"], between[k], atol=5e-6)


def test_a_large_vocabulary_is_compared_at_some_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, batch = drawn(40, 25, seed=7), drawn(5, 12, seed=8)
    whole = np.ones(batch.shape, dtype=bool)
    p_KPV = written_out(corpus, batch, whole, whole)
    monkeypatch.setattr(bounds, "LARGEST", 7 * V)
    distances = PredictorDistances(corpus, as_batch(batch), queries=None)
    logits = torch.randn(5, 12, V, generator=torch.Generator().manual_seed(9))
    for row in logits:
        distances.add(row[None])
    place = np.linspace(0, 59, 7).round().astype(int)
    q_PV = logits.double().softmax(-1).numpy().reshape(60, V)[place]
    expected = rel_entr(p_KPV[:, place], q_PV).sum(-1).mean(-1)
    assert np.allclose(distances.record()["kl"], expected, atol=2e-6)
    assert distances.notes == ["predictors: compared at 7 of 60 positions, evenly spread"]


def test_embeddings_have_no_next_token() -> None:
    with pytest.raises(ConfigError, match="corpus: it needs tokens that are ids"):
        PredictorDistances(drawn(3, 4, seed=1), as_batch(np.zeros((2, 3, 4))), queries=None)
