"""Trajectory variables as Parquet bytes: a row per step, a column per variable, the same bytes for the same content.

A variable with one number a step is a plain column; any other is a fixed-size list of its flattened values, whose shape
and dimensions are in the schema metadata. Any Parquet reader can open it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.variables import VARIABLES
from headwise.store.arrays import storable
from headwise.store.plain import require_object

if TYPE_CHECKING:
    import pyarrow as pa

METADATA_KEY = b"headwise"
STEP_COLUMN = "step"


def encode_table(steps: np.ndarray, variables: Mapping[str, np.ndarray], *, metadata: Mapping[str, Any]) -> bytes:
    """Steps and the variables measured at them, each with the steps as its first axis."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, pa.Array] = {STEP_COLUMN: pa.array(steps)}
    described: dict[str, Any] = {}
    for name in sorted(variables):
        values = storable(name, variables[name])
        dims = list(VARIABLES[name].dimensions[1:]) if name in VARIABLES else None
        described[name] = {"dims": dims, "shape": list(values.shape[1:]), "dtype": values.dtype.name}
        columns[name] = _column(values)
    text = json.dumps({**metadata, "variables": described}, sort_keys=True, separators=(",", ":"))
    table = pa.table(columns).replace_schema_metadata({METADATA_KEY: text.encode()})
    sink = pa.BufferOutputStream()
    # Measurements hardly ever repeat, so a dictionary and minima per column would only add bytes.
    pq.write_table(table, sink, use_dictionary=False, compression="zstd", write_statistics=False)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def decode_table(content: bytes) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, Any]]:
    """Steps, variables and metadata; ValueError when these are not such bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(content), use_threads=False)
        metadata: dict[str, Any] = json.loads(table.schema.metadata[METADATA_KEY])
        require_object(metadata)
        described = metadata.pop("variables")
        variables = {name: _values(table.column(name), len(table), about) for name, about in described.items()}
        steps = table.column(STEP_COLUMN).to_numpy()
    except MemoryError:  # the machine's, though the library counts it among its own
        raise
    except (pa.ArrowException, OSError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"not a table of a run: {error}") from error
    return steps, variables, metadata


def _column(values: np.ndarray) -> pa.Array:
    import pyarrow as pa

    width = math.prod(values.shape[1:])
    if width == 0:
        return pa.nulls(len(values))  # Parquet has no lists of length zero; the shape is in the metadata
    flat = pa.array(values.reshape(-1))
    return flat if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, width)


def _values(column: pa.ChunkedArray, rows: int, about: Mapping[str, Any]) -> np.ndarray:
    shape, dtype = (rows, *about["shape"]), np.dtype(about["dtype"])
    if math.prod(shape) == 0:
        return np.zeros(shape, dtype)
    whole = column.combine_chunks()
    flat = whole if len(shape) == 1 else whole.flatten()
    return np.array(flat.to_numpy(zero_copy_only=False), dtype=dtype).reshape(shape)
