"""Named numpy arrays as safetensors bytes, the same bytes for the same content, and no pickle.

Everything that is not an array goes into one metadata entry: the library does not fix the order of several.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from headwise.store.arrays import storable
from headwise.store.plain import exact_json, require_object

METADATA_KEY = "headwise"


def encode_tensors(arrays: Mapping[str, np.ndarray], *, metadata: Mapping[str, Any]) -> bytes:
    """Arrays of any shape and real or boolean dtype, with JSON-able metadata that comes back exactly."""
    from safetensors.numpy import save

    if "__metadata__" in arrays:
        raise ValueError("'__metadata__' is a reserved name; call the array otherwise")
    stored = {name: storable(name, arrays[name]) for name in sorted(arrays)}
    return save(stored, metadata={METADATA_KEY: exact_json(dict(metadata))})


def decode_tensors(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays (writable, with their own memory) and metadata; ValueError when these are not such bytes."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = {name: array.copy() for name, array in load(content).items()}
        (header_size,) = struct.unpack_from("<Q", content)
        header = json.loads(content[8 : 8 + header_size])
        metadata: dict[str, Any] = json.loads(header["__metadata__"][METADATA_KEY])
        require_object(metadata)
    except (SafetensorError, KeyError, TypeError, RecursionError, struct.error) as error:
        raise ValueError(f"not a tensor file of a run: {error}") from error
    return arrays, metadata
