"""A share and how sure it is."""

from __future__ import annotations

from math import sqrt
from typing import Any

CONFIDENCE = 1.959964
"""Standard deviations of a 95 % interval."""


def share(part: int, whole: int) -> dict[str, Any]:
    """A share and its 95 % interval by Wilson; no numbers where there is nothing to count."""
    if whole == 0:
        return {"value": None, "low": None, "high": None, "of": 0}
    value, z = part / whole, CONFIDENCE
    centre = (value + z**2 / (2 * whole)) / (1 + z**2 / whole)
    half = z / (1 + z**2 / whole) * sqrt(value * (1 - value) / whole + z**2 / (4 * whole**2))
    return {"value": value, "low": max(0.0, centre - half), "high": min(1.0, centre + half), "of": whole}
