"""Attention whose answer is known: heads built to copy the previous token, the first, themselves, or what follows."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from probe_references import naive_by_lag
from torch import Tensor

from headwise.core.errors import ConfigError, RunFailed
from headwise.probe import HeadWrites, Layer, watch
from headwise.probe.block_sums import BlockSums
from headwise.probe.sequences import synthetic

SELF, PREVIOUS, FIRST, INDUCTION, EVEN = range(5)


def known_heads(tokens: Tensor) -> Tensor:
    """One block of five heads, (1, B, 5, S, S); the induction head falls back to the first token."""
    rows, size = tokens.shape
    a = torch.zeros(1, rows, 5, size, size, dtype=torch.float64)
    for b in range(rows):
        for q in range(size):
            a[0, b, SELF, q, q] = 1
            a[0, b, PREVIOUS, q, max(q - 1, 0)] = 1
            a[0, b, FIRST, q, 0] = 1
            earlier = [k for k in range(q) if tokens[b, k] == tokens[b, q]]
            a[0, b, INDUCTION, q, earlier[-1] + 1 if earlier else 0] = 1
            a[0, b, EVEN, q, : q + 1] = 1 / (q + 1)
    return a


def test_heads_that_are_known() -> None:
    tokens = torch.arange(20).reshape(2, 10)
    with watch(known_heads, tokens=tokens) as w:
        pass
    found = w.trajectory.isel(step=0, block=0)
    on = found["attention_on"]
    harmonic = np.mean([1 / q for q in range(2, 11)])
    assert on.sel(place="self").values == pytest.approx([1, 0.1, 0.1, 0.1, np.mean([1 / q for q in range(1, 11)])])
    assert on.sel(place="previous").values == pytest.approx([0, 1, 1 / 9, 1 / 9, harmonic])
    assert on.sel(place="first").values == pytest.approx([0, 1 / 9, 1, 1, harmonic])
    assert on.sel(place="induction").values == pytest.approx([0, 0, 0, 1, 0]), "repeats of varied period"
    assert found["attention_by_lag"].sel(lag=2).values[PREVIOUS] == pytest.approx(0.9)
    assert found["attention_by_lag"].sel(lag=1).values[SELF] == pytest.approx(1)
    assert found["attention_concentration"].values[SELF] == pytest.approx(1)
    assert found["attention_concentration"].values[FIRST] == pytest.approx(0.1)
    assert found["attention_entropy"].values == pytest.approx(
        [0, 0, 0, 0, np.mean([math.log(q) for q in range(1, 11)])]
    )
    assert found["head_overlap"].values[SELF] == pytest.approx([1, 0.1, 0.1, 0.1, on.sel(place="self").values[EVEN]])
    assert w.seen.layers == ("block 1",)
    assert (w.trajectory.attrs["source"], w.trajectory.attrs["adapter"]) == ("probe", "function")


@settings(max_examples=25, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 3), st.integers(1, 9)),
    causal=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_any_attention_by_lag(shape: tuple[int, int, int, int], causal: bool, seed: int) -> None:
    blocks, rows, heads, size = shape
    scores = torch.randn(blocks, rows, heads, size, size, generator=torch.Generator().manual_seed(seed))
    if causal:
        scores = scores.masked_fill(torch.ones(size, size, dtype=torch.bool).triu(1), -math.inf)
    maps = scores.softmax(-1)
    tokens = torch.zeros(rows, size, dtype=torch.long)
    with watch(lambda tokens: maps, tokens=tokens) as w:
        pass
    found = w.trajectory
    assert found["lag"].values.tolist() == list(range(1 if causal or size == 1 else 2 - size, size + 1))
    assert np.allclose(found["attention_by_lag"].values[0], naive_by_lag(maps, found["lag"].values), atol=1e-6)


def test_only_the_last_queries_and_the_nearest_lags() -> None:
    scores = torch.randn(1, 4, 2, 12, 12).masked_fill(torch.ones(12, 12, dtype=torch.bool).triu(1), -math.inf)
    maps = scores.softmax(-1)
    tokens = torch.zeros(4, 12, dtype=torch.long)
    with watch(lambda tokens: maps, tokens=tokens, queries=5, lags=3) as w:
        pass
    mean = maps[0].double().mean(0).numpy()
    expected = np.stack([np.mean([mean[:, q, q + 1 - lag] for q in range(7, 12)], 0) for lag in (1, 2, 3)], -1)
    assert np.allclose(w.trajectory["attention_by_lag"].values[0, 0], expected)


def test_write_alignment_is_the_cosine_of_what_heads_write() -> None:
    rng = torch.Generator().manual_seed(0)
    z = torch.randn(3, 7, 4, 5, generator=rng)
    output = torch.randn(6, 4, 5, generator=rng)
    output[:, 1], z[:, :, 1] = output[:, 0], -z[:, :, 0]
    z[:, :, 3] = 0
    maps = torch.eye(7).expand(3, 4, 7, 7)
    layer = Layer("one", maps, None, HeadWrites(z, output))
    sums = BlockSums(layer, queries=None)
    sums.add(layer)
    written = torch.einsum("bshe,dhe->hbsd", z, output).flatten(1).double()
    cosine = (written @ written.T) / torch.outer(written.norm(dim=1), written.norm(dim=1))
    found = sums.write_alignment()
    assert np.allclose(found[:3, :3], cosine[:3, :3], atol=1e-5)
    assert found[0, 1] == pytest.approx(-1)
    assert np.array_equal(found[3], np.zeros(4))


def test_rows_must_be_distributions() -> None:
    maps = torch.full((1, 2, 2, 4, 4), 0.25)
    tokens = torch.zeros(2, 4, dtype=torch.long)
    bad = maps.clone()
    bad[0, 1, 1, 2, 3] += 0.01
    for wrong, words in (
        (bad, "adds up to one only within 0.01"),
        (maps * 2, "only within 1"),
        (torch.tensor([1.5, -0.5, 0, 0]).expand(1, 2, 2, 4, 4), "negative"),
    ):
        with pytest.raises(RunFailed, match=words), watch(lambda tokens, a=wrong: a, tokens=tokens):
            pass


def test_a_diverged_model_is_recorded_as_such() -> None:
    maps = torch.full((1, 2, 2, 4, 4), 0.25)
    maps[0, 0, 1] = math.nan
    with watch(lambda tokens: maps, tokens=torch.zeros(2, 4, dtype=torch.long)) as w:
        pass
    finite = np.isfinite(w.trajectory["attention_by_lag"].values[0, 0]).all(-1)
    assert finite.tolist() == [True, False]


@pytest.mark.parametrize(
    ("attention", "words"),
    [
        ([], "no attention was seen"),
        (torch.ones(4, 4), "shape"),
        (torch.ones(1, 1, 4, 4, dtype=torch.long), "real numbers"),
        (torch.ones(1, 1, 4, 3) / 3, "4 queries on 3 keys"),
    ],
)
def test_a_function_that_gives_no_attention(attention: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words), watch(lambda tokens: attention, tokens=torch.zeros(1, 4)):
        pass


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (torch.zeros(0, 4), "empty"),
        (np.zeros((2, 0), int), "empty"),
        (torch.zeros(1, 1, 1, 1), "shape"),
        ({"labels": torch.zeros(1, 4)}, "none of input_ids"),
        (torch.zeros(1, 4, device="meta"), "meta device"),
    ],
)
def test_tokens_that_cannot_be_shown(tokens: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        watch(lambda tokens: tokens, tokens=tokens)


def test_other_things_are_not_models() -> None:
    with pytest.raises(ConfigError, match="cannot watch a int"), watch(3, tokens=torch.zeros(1, 4)):
        pass


def test_synthetic_sequences() -> None:
    drawn = {
        kind: synthetic(kind, vocabulary=30, sequences=40, length=50, seed=1)
        for kind in ("repeated", "markov", "random")
    }
    assert all(d.shape == (40, 50) and d.min() >= 0 and d.max() < 30 for d in drawn.values())
    assert np.array_equal(drawn["repeated"][:, :25], drawn["repeated"][:, 25:])
    followers = {t: {int(n) for row in drawn["markov"] for p, n in pairwise(row) if p == t} for t in range(30)}
    assert max(len(f) for f in followers.values()) <= 4
    again = synthetic("markov", vocabulary=30, sequences=40, length=50, seed=1)
    assert np.array_equal(again, drawn["markov"])
    assert not np.array_equal(synthetic("markov", vocabulary=30, sequences=40, length=50, seed=2), again)
