"""Sliding windows shorter than the sequence: chance against direct enumeration of what each query sees."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from headwise.phases.detection import detect
from headwise.phases.heads_now import heads_now
from headwise.probe import watch

SIZE, ROWS, HEADS = 12, 5, 3


def banded(sees: Tensor, *, seed: int, valid: Tensor | None = None) -> Tensor:
    """Attention of random scores on the keys that the mask (queries, keys) leaves."""
    scores = torch.randn(ROWS, HEADS, SIZE, SIZE, generator=torch.Generator().manual_seed(seed)).double()
    scores = scores.masked_fill(~sees, -math.inf)
    return scores.softmax(-1) if valid is None else scores.masked_fill(~valid[:, None, None], -1e9).softmax(-1)


def causal(window: int | None = None) -> Tensor:
    mask = torch.ones(SIZE, SIZE, dtype=torch.bool).tril()
    return mask if window is None else mask.triu(1 - window)


def around(reach: int) -> Tensor:
    return torch.ones(SIZE, SIZE, dtype=torch.bool).tril(reach).triu(-reach)


def enumerated(sees: Tensor, lags: np.ndarray, *, queries: int = SIZE, valid: Tensor | None = None) -> list[float]:
    """Share of each lag if every real query looked evenly at the real keys it sees, one query at a time."""
    real = torch.ones(ROWS, SIZE, dtype=torch.bool) if valid is None else valid
    shares: dict[int, float] = dict.fromkeys(map(int, lags), 0.0)
    counted = 0
    for row in range(ROWS):
        for q in range(SIZE - queries, SIZE):
            if not real[row, q]:
                continue
            counted += 1
            keys = [k for k in range(SIZE) if sees[q, k] and real[row, k]]
            for k in keys:
                if q + 1 - k in shares:
                    shares[q + 1 - k] += 1 / len(keys)
    return [share / counted for share in shares.values()]


@pytest.mark.parametrize("sees", [causal(), causal(4), causal(1), around(3)])
@pytest.mark.parametrize("queries", [SIZE, 5])
def test_chance_is_what_each_query_can_really_see(sees: Tensor, queries: int) -> None:
    a = banded(sees, seed=1)
    tokens = torch.zeros(ROWS, SIZE, dtype=torch.long)
    with watch(lambda tokens: a, tokens=tokens, queries=queries, induction="off") as w:
        pass
    found = w.trajectory["lag_chance"].isel(step=0)
    assert found.values == pytest.approx(enumerated(sees, found["lag"].values, queries=queries), abs=1e-7)


def test_padding_is_no_window() -> None:
    lengths = [7, 7, 5, 6, 7]
    valid = torch.tensor([[k < length for k in range(SIZE)] for length in lengths])
    tokens = {"tokens": torch.zeros(ROWS, SIZE, dtype=torch.long), "attention_mask": valid.long()}
    for sees in (causal(), causal(3)):
        a = banded(sees, seed=2, valid=valid)
        with watch(lambda tokens, a=a, **_: a, tokens=tokens, induction="off") as w:
            pass
        found = w.trajectory["lag_chance"].isel(step=0)
        assert found.values == pytest.approx(enumerated(sees, found["lag"].values, valid=valid), abs=1e-7)


def test_each_layer_has_its_own_window() -> None:
    masks = [causal(4), causal(), causal(7)]
    maps = [banded(sees, seed=seed) for seed, sees in enumerate(masks)]
    with watch(lambda tokens: maps, tokens=torch.zeros(ROWS, SIZE, dtype=torch.long), induction="off") as w:
        pass
    by_block = w.trajectory["lag_chance_by_block"].isel(step=0)
    for block, sees in zip(by_block["block"].values, masks, strict=True):
        expected = enumerated(sees, by_block["lag"].values)
        assert by_block.sel(block=block).values == pytest.approx(expected, abs=1e-7), block
    assert w.trajectory["lag_chance"].values[0] == pytest.approx(by_block.values[0])


def test_zeros_without_the_shape_of_a_window_say_nothing() -> None:
    """A few global tokens beside a window, and heads so sharp that most weights are exactly zero."""
    global_first = causal(4)
    global_first[:, 0] = True
    sharp = torch.zeros(SIZE, SIZE, dtype=torch.bool)
    for q in range(SIZE):
        sharp[q, max(q - q % 3, 0)] = True
    for sees in (global_first, sharp):
        a = banded(sees, seed=3)
        with watch(lambda tokens, a=a: a, tokens=torch.zeros(ROWS, SIZE, dtype=torch.long), induction="off") as w:
            pass
        found = w.trajectory["lag_chance"].isel(step=0)
        assert found.values == pytest.approx(enumerated(causal(), found["lag"].values), abs=1e-7)


def test_an_even_head_in_a_short_window_has_no_role() -> None:
    """Even attention in a window of two would look like a previous-token head to who takes it for the whole past."""
    even = (causal(2) / causal(2).sum(-1, keepdim=True)).double().expand(ROWS, HEADS, SIZE, SIZE)
    with watch(lambda tokens: even, tokens=torch.randint(0, 5, (ROWS, SIZE)), every=1, induction="off") as w:
        for _ in range(30):
            w.step()
    last = w.trajectory.isel(step=-1, block=0)
    for role in ("self", "previous", "window"):
        assert last["role_score"].sel(role=role).values == pytest.approx(0, abs=1e-6), role
    assert [role.role for role in detect(w.trajectory).roles] == []


def test_a_head_is_named_by_the_chance_of_its_own_layer() -> None:
    """The second layer's even window would be a previous-token head by the chance of the first."""
    masks = [causal(), causal(2)]
    maps = [(m / m.sum(-1, keepdim=True)).double().expand(ROWS, HEADS, SIZE, SIZE) for m in masks]
    with watch(lambda tokens: maps, tokens=torch.zeros(ROWS, SIZE, dtype=torch.long), induction="off") as w:
        pass
    by_lag = w.trajectory[["attention_by_lag", "lag_chance", "lag_chance_by_block"]]
    assert {one.role for one in heads_now(by_lag)} == {None}
    assert {one.role for one in heads_now(by_lag.drop_vars("lag_chance_by_block"))} != {None}


def test_only_followers_in_the_window_count_for_induction() -> None:
    """A head on all followers in its window is a perfect one, though most followers lie beyond it."""
    window = 5
    tokens = torch.randint(0, 3, (24, SIZE), generator=torch.Generator().manual_seed(0))
    a = torch.zeros(24, 1, SIZE, SIZE)
    for row in range(24):
        for q in range(SIZE):
            near = range(max(0, q + 1 - window), q + 1)
            followers = [k for k in near if k and tokens[row, k - 1] == tokens[row, q]]
            chosen = followers or list(near)
            a[row, 0, q, chosen] = 1 / len(chosen)
    with watch(lambda tokens: a, tokens=tokens, induction="off") as w:
        pass
    assert float(w.trajectory["role_score"].sel(role="induction").values.squeeze()) == pytest.approx(1.0, abs=1e-6)


def test_a_mistral_with_a_sliding_window() -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.MistralConfig(
        hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
        vocab_size=9, max_position_embeddings=16, sliding_window=5,
    )  # fmt: skip
    with watch(transformers.MistralForCausalLM(config), tokens=torch.randint(0, 9, (ROWS, SIZE))) as w:
        pass
    found = w.trajectory["lag_chance"].isel(step=0)
    assert found.values == pytest.approx(enumerated(causal(5), found["lag"].values), abs=1e-7)
