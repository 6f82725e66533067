"""Arrays small enough to mail: 32-bit floats, byte planes, deflate, base64.

The stored bits come back exactly. Before deflating, each array along its first axis (time) is replaced by the
differences of its bit patterns, and the four bytes of all numbers are laid plane after plane: neighbouring times share
sign, exponent and leading digits, so most of the upper planes become zeros. `static/decode.js` undoes this.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np


def pack(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Several arrays as one block: `parts` says where each lies and its shape; the first axis of each is time."""
    parts: dict[str, Any] = {}
    words: list[np.ndarray] = []
    offset = 0
    for name, array in arrays.items():
        single = np.ascontiguousarray(array, dtype="<f4")
        parts[name] = {"at": offset, "shape": list(single.shape)}
        bits = single.view("<u4").reshape(len(single), -1) if single.size else np.zeros((0, 1), dtype="<u4")
        words.append(np.concatenate([bits[:1], bits[1:] - bits[:-1]]).reshape(-1))
        offset += single.size
    joined = np.concatenate(words) if words else np.zeros(0, dtype="<u4")
    planes = joined.astype("<u4").view(np.uint8).reshape(-1, 4).T.tobytes()
    return {"parts": parts, "length": offset, "data": base64.b64encode(zlib.compress(planes, 6)).decode("ascii")}


def unpack(block: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The inverse of `pack`, as the page does it."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(block["data"])), np.uint8)
    joined = np.ascontiguousarray(planes.reshape(4, -1).T).view("<u4").reshape(-1)
    arrays: dict[str, np.ndarray] = {}
    for name, part in block["parts"].items():
        shape = tuple(part["shape"])
        size = int(np.prod(shape))
        differences = joined[part["at"] : part["at"] + size].reshape(shape[0], -1) if size else np.zeros((0, 1), "<u4")
        bits = np.cumsum(differences, axis=0, dtype=np.uint32).astype("<u4")
        arrays[name] = np.ascontiguousarray(bits).view("<f4").reshape(shape)
    return arrays
