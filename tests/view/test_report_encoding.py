"""Packing is exact, thinning keeps what matters, JSON cannot leave its element."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from headwise.view.report.encode import pack, unpack
from headwise.view.report.html import json_block
from headwise.view.report.page_data import pack_within
from headwise.view.report.thin import keep_moments

FLOATS = arrays(np.float32, array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=6), elements=st.floats(width=32))


@settings(max_examples=150, deadline=None)
@given(st.lists(FLOATS, min_size=0, max_size=4))
def test_every_bit_comes_back(given_arrays: list[np.ndarray]) -> None:
    named = {f"v{i}": array for i, array in enumerate(given_arrays)}
    back = unpack(json.loads(json.dumps(pack(named))))
    assert list(back) == list(named)
    for name, array in named.items():
        assert back[name].shape == array.shape
        assert back[name].tobytes() == array.tobytes(), "not-a-number, infinities and signed zeros too"


def test_attention_maps_pack_well() -> None:
    """Slowly changing causal maps take less than two thirds of their plain base64."""
    random = np.random.default_rng(0)
    lag = np.arange(6, 26)[:, None] - np.arange(25)[None]
    start, end = random.standard_normal((2, 3, 20, 25))
    share = np.linspace(0, 1, 100)[:, None, None, None]
    logits = np.where(lag >= 1, 3 * ((1 - share) * start + share * end), -np.inf)
    maps = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    assert len(pack({"m": maps})["data"]) < 2 / 3 * maps.size * 4 * 4 / 3


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=200, unique=True),
    st.integers(0, 250),
    st.lists(st.floats(0, 1e6), max_size=4),
)
def test_thinning_keeps_ends_and_events(times: list[float], count: int, events: list[float]) -> None:
    steps = np.sort(np.array(times))
    kept = keep_moments(steps, count, always=events)
    assert len(kept) == min(len(steps), max(2, count))
    assert np.all(np.diff(kept) > 0)
    nearest = {int(np.abs(steps - event).argmin()) for event in events}
    inside = nearest - {0, len(steps) - 1}
    assert kept[0] == (min(inside) if inside and len(kept) == 2 else 0), "the beginning gives way where room is for two"
    assert kept[-1] == len(steps) - 1
    if count >= 2 + len(events):
        assert nearest <= set(kept.tolist())


def test_a_budget_is_kept() -> None:
    values = np.random.default_rng(1).random((300, 40)).astype(np.float32)
    steps = np.arange(300.0)
    kept, block = pack_within({"v": values}, steps, 20_000, always=[123.4])
    assert len(block["data"]) <= 20_000
    assert 60 < len(kept) < 150
    assert 123 in kept
    assert np.array_equal(unpack(block)["v"], values[kept]), "fewer moments, the same numbers"


@given(st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.none(), st.lists(st.text()))))
def test_json_stays_in_its_element(data: dict[str, object]) -> None:
    text = json_block(data)
    assert json.loads(text) == data
    assert re.search("[<>&\u2028\u2029]", text) is None


def test_json_has_no_numbers_that_are_none() -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_block({"x": float("nan")})
