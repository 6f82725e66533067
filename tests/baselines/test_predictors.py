"""The n-gram and in-context predictors against plain counting in dictionaries, and their bounds."""

from __future__ import annotations

import numpy as np
import pytest
from plain_counting import predict, tables
from scipy.special import rel_entr

from headwise.baselines import corpus as corpora
from headwise.baselines import following, in_context, predictors
from headwise.baselines.corpus import as_corpus
from headwise.baselines.divergences import between_predictors
from headwise.baselines.predictors import NAMES, Predictors, count_predictors
from headwise.core.errors import ConfigError

V = 7


def sticky(rows: int, length: int, *, seed: int) -> np.ndarray:
    """Sequences in which contexts come back: each token is often the one three places before."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(V - 1, size=(rows, length))
    for t in range(3, length):
        ids[:, t] = np.where(rng.random(rows) < 0.6, ids[:, t - 3], ids[:, t])
    return ids


def everywhere(found: Predictors) -> np.ndarray:
    return np.concatenate([p for _, p in found.written_out()], axis=1)


def counted(corpus: object, batch: np.ndarray, **masks: np.ndarray) -> Predictors:
    whole = np.ones(batch.shape, dtype=bool)
    given = {"valid_BS": whole, "counted_BS": whole, **masks}
    return count_predictors(as_corpus(corpus), batch, vocabulary=V, **given)


@pytest.mark.parametrize("shape", [(1, 400), (40, 10), (130, 3), (300, 1)])
def test_every_predictor_is_what_plain_counting_gives(shape: tuple[int, int]) -> None:
    corpus, batch = sticky(*shape, seed=1), sticky(4, 9, seed=2)
    batch[0, 4] = V - 1  # a token that the corpus does not have
    found = tables(corpus.tolist())
    expected = [predict(row[: t + 1], found, V) for row in batch.tolist() for t in range(len(row))]
    p_KPV = everywhere(counted(corpus, batch))
    assert np.allclose(p_KPV, np.swapaxes(expected, 0, 1), atol=1e-12)
    assert np.allclose(p_KPV.sum(-1), 1, atol=1e-12)
    assert (p_KPV > 0).all()


def test_a_row_of_ids_and_its_blocks_are_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text, batch = sticky(1, 500, seed=3)[0], sticky(3, 8, seed=4)
    whole = everywhere(counted(text, batch))
    monkeypatch.setattr(corpora, "BLOCK", 7)
    monkeypatch.setattr(in_context, "CHUNK", 16)
    monkeypatch.setattr(predictors, "CHUNK", 5 * V)
    assert np.array_equal(everywhere(counted(text, batch)), whole)
    monkeypatch.setattr(following, "LARGEST_TABLE", 0)
    assert np.array_equal(everywhere(counted(text, batch)), whole)


def test_padding_is_no_context() -> None:
    corpus, batch = sticky(20, 12, seed=5), sticky(2, 10, seed=6)
    valid = np.ones(batch.shape, dtype=bool)
    valid[0, :4] = valid[1, 7:] = False
    padded = np.where(valid, batch, V - 1)
    found = tables(corpus.tolist())
    parts = (batch[0, 4:], batch[1, :7])
    expected = [predict(row[: t + 1], found, V) for row in map(np.ndarray.tolist, parts) for t in range(len(row))]
    p_KPV = everywhere(counted(corpus, padded, valid_BS=valid))
    assert np.allclose(p_KPV, np.swapaxes(expected, 0, 1), atol=1e-12)


def test_positions_beyond_the_bound_are_spread_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, batch = sticky(20, 12, seed=7), sticky(6, 10, seed=8)
    all_of_them = everywhere(counted(corpus, batch))
    monkeypatch.setattr(predictors, "LARGEST", 13 * V)
    some = counted(corpus, batch)
    assert len(some.position_P) == 13
    assert some.position_P[[0, -1]].tolist() == [0, 59]
    assert set(np.diff(some.position_P)) <= {4, 5}
    assert np.array_equal(everywhere(some), all_of_them[:, some.position_P])
    assert all(len(part.share_N) <= 13 * V for part in some.parts)


def test_memory_follows_the_batch_and_not_the_corpus() -> None:
    batch = sticky(1, 6, seed=9)
    small, large = (counted(sticky(rows, 50, seed=10), batch) for rows in (100, 2000))
    held = [sum(part.share_N.nbytes + part.token_N.nbytes for part in found.parts) for found in (small, large)]
    assert held[1] <= 6 * V * len(NAMES) * 16
    assert held[1] < 1.5 * held[0]


def test_a_long_corpus_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "LONGEST_CORPUS", 100)
    rows, text = as_corpus(sticky(30, 9, seed=11)), as_corpus(sticky(1, 270, seed=12)[0])
    assert rows.ids.shape == (11, 9)
    assert text.ids.shape == (1, 100)
    assert rows.tokens_given == text.tokens_given == 270


def test_divergences_between_predictors_are_those_of_enumeration() -> None:
    found = counted(sticky(25, 12, seed=13), sticky(5, 11, seed=14))
    p_KPV = everywhere(found)
    sums = between_predictors(found)
    expected = [[rel_entr(a, b).sum(-1).mean() for b in p_KPV] for a in p_KPV]
    assert np.allclose(sums.between_KK, expected, atol=1e-12)
    assert np.allclose(sums.negative_entropy_K, (p_KPV * np.log(p_KPV)).sum(-1).mean(-1), atol=1e-12)
    for part in found.parts:
        own, base = (p_KPV[NAMES.index(name), part.position_N, part.token_N] for name in (part.name, part.base))
        ratio = own / (part.rest_P[part.position_N] * base)
        assert np.allclose(np.exp(sums.log_ratio[part.name]), ratio, rtol=1e-10)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (np.zeros(0, dtype=int), "corpus holds int64 of shape (0,); give token ids as one row or as"),
        (np.zeros((2, 3)), "corpus holds float64 of shape (2, 3)"),
        (np.zeros((2, 3, 4), dtype=int), "corpus holds int64 of shape (2, 3, 4)"),
        ([[1, 2], [3]], "corpus: give token ids as one row, or as (sequences, positions) of one length"),
        ("text", "corpus holds <U4 of shape ()"),
    ],
)
def test_what_is_no_corpus_is_refused_in_one_line(given: object, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        as_corpus(given)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [-1, V])
def test_an_id_outside_the_vocabulary_is_refused(wrong: int) -> None:
    corpus = sticky(20, 12, seed=15)
    corpus[7, 3] = wrong
    with pytest.raises(ConfigError, match=r"corpus: ids range over .*, the model has 0\.\.6"):
        counted(corpus, sticky(2, 6, seed=16))
