"""Arrays to bytes and back: every dtype and shape, to the last bit, the same bytes each time, read by other readers."""

from __future__ import annotations

import io
import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open

from headwise.store.arrays import DTYPES
from headwise.store.plain import exact_json, portable_json
from headwise.store.tables import decode_table, encode_table
from headwise.store.tensors import decode_tensors, encode_tensors

QUICK = settings(max_examples=80, deadline=None)
names = st.text(min_size=1, max_size=8).filter(lambda name: name not in ("step", "__metadata__"))


def arrays(shape: Any) -> st.SearchStrategy[np.ndarray]:
    """Arrays of raw bits: so NaN with any payload, infinities, subnormals and both zeros."""

    def from_bits(name: str) -> st.SearchStrategy[np.ndarray]:
        dtype = np.dtype(name)
        if dtype.kind != "f":
            return hnp.arrays(dtype, shape)
        return hnp.arrays(np.dtype(f"uint{8 * dtype.itemsize}"), shape).map(lambda bits: bits.view(dtype))

    return st.sampled_from(sorted(DTYPES)).flatmap(from_bits)


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rows = draw(st.integers(0, 4))
    steps = np.array(sorted(draw(st.sets(st.integers(0, 10**9), min_size=rows, max_size=rows))), dtype=np.int64)
    shapes = st.lists(st.integers(0, 3), max_size=3).map(lambda rest: (rows, *rest))
    return steps, draw(st.dictionaries(names, shapes.flatmap(arrays), max_size=3))


def assert_same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


@QUICK
@given(tables())
def test_tables_round_trip_to_the_last_bit(table: tuple[np.ndarray, dict[str, np.ndarray]]) -> None:
    steps, variables = table
    content = encode_table(steps, variables, metadata={"previous": 7})
    found_steps, found, metadata = decode_table(content)
    assert metadata == {"previous": 7}
    assert_same_bits(found_steps, steps)
    assert set(found) == set(variables)
    for name, values in variables.items():
        assert_same_bits(found[name], values)
    backwards = dict(reversed(variables.items()))
    assert encode_table(steps, backwards, metadata={"previous": 7}) == content


shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)


@QUICK
@given(st.dictionaries(names, shapes.flatmap(arrays), max_size=4))
def test_tensors_round_trip_to_the_last_bit(named: dict[str, np.ndarray]) -> None:
    content = encode_tensors(named, metadata={"a": 1})
    found, metadata = decode_tensors(content)
    assert metadata == {"a": 1}
    assert set(found) == set(named)
    for name, values in named.items():
        assert_same_bits(found[name], values)
        assert found[name].flags.writeable
    assert encode_tensors(dict(reversed(named.items())), metadata={"a": 1}) == content


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24.0).reshape(2, 3, 4).T,
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(10)[::2],
        np.arange(4.0)[::-1],
        np.arange(6).astype(">i4").reshape(2, 3),
        np.broadcast_to(np.float32(3), (2, 2)),
    ],
)
def test_memory_layout_does_not_matter(array: np.ndarray) -> None:
    found, _ = decode_tensors(encode_tensors({"x": array}, metadata={}))
    np.testing.assert_array_equal(found["x"], array)
    plain = array.astype(array.dtype.newbyteorder("="), order="C")
    assert encode_tensors({"x": array}, metadata={}) == encode_tensors({"x": plain}, metadata={})
    _, variables, _ = decode_table(encode_table(np.arange(len(array)), {"x": array}, metadata={}))
    np.testing.assert_array_equal(variables["x"], array)


def test_a_table_opens_in_a_plain_parquet_reader() -> None:
    overlap = np.arange(24.0).reshape(2, 3, 4)
    kl = np.array([[0.5, math.nan], [math.inf, 1.0]])
    content = encode_table(
        np.array([10, 20]),
        {"excess_loss": np.array([1.5, 0.25]), "kl": kl, "thing": overlap},
        metadata={"previous": None},
    )
    table = pq.read_table(io.BytesIO(content))
    assert table.column("step").to_pylist() == [10, 20]
    assert table.column("excess_loss").to_pylist() == [1.5, 0.25]
    assert table.column("thing").to_pylist() == overlap.reshape(2, 12).tolist()
    about = json.loads(table.schema.metadata[b"headwise"])["variables"]
    assert about["kl"] == {"dims": ["predictor"], "shape": [2], "dtype": "float64"}
    assert about["thing"] == {"dims": None, "shape": [3, 4], "dtype": "float64"}


def test_tensors_open_in_a_plain_safetensors_reader(tmp_path: Path) -> None:
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    (tmp_path / "t.safetensors").write_bytes(encode_tensors({"w": weights}, metadata={"best": math.inf}))
    with safe_open(tmp_path / "t.safetensors", framework="np") as file:
        np.testing.assert_array_equal(file.get_tensor("w"), weights)
        assert json.loads(file.metadata()["headwise"]) == {"best": math.inf}


@pytest.mark.parametrize("array", [np.array([1j]), np.array(["text"]), np.array([None]), np.array(["2020"], "M8[D]")])
def test_other_dtypes_are_refused_by_name(array: np.ndarray) -> None:
    with pytest.raises(TypeError, match="odd has dtype"):
        encode_tensors({"odd": array}, metadata={})
    with pytest.raises(TypeError, match="odd has dtype"):
        encode_table(np.array([1]), {"odd": array}, metadata={})


@pytest.mark.parametrize("content", [b"", b"text", struct.pack("<Q", 2) + b"{}", b"PAR1PAR1"])
def test_other_bytes_are_refused(content: bytes) -> None:
    for decode in (decode_table, decode_tensors):
        with pytest.raises(ValueError, match=r".+"):
            decode(content)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)


def same(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return struct.pack("<d", left) == struct.pack("<d", right) or (math.isnan(left) and math.isnan(right))
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


@QUICK
@given(st.dictionaries(st.text(), trees, max_size=4))
def test_states_come_back_exactly(state: dict[str, Any]) -> None:
    _, metadata = decode_tensors(encode_tensors({}, metadata={"state": state}))
    assert same(metadata["state"], state)


@pytest.mark.parametrize("value", [(1, 2), {1: 2}, np.float64(1.0), np.int64(1), {1}, b"bytes"])
def test_states_that_json_would_change_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="state"):
        exact_json({"x": [value]})


def test_portable_json_is_strict_json() -> None:
    value = {"loss": math.nan, "best": math.inf, "at": Path("a/b"), "lags": np.arange(3), "n": np.int64(4), "t": (1,)}

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    found = json.loads(portable_json(value), parse_constant=refuse)
    assert found == {"loss": "nan", "best": "inf", "at": "a/b", "lags": [0, 1, 2], "n": 4, "t": [1]}
