"""Arrays as values that JSON can hold."""

from __future__ import annotations

from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Arrays and numpy scalars as lists and numbers; what is not a finite number becomes `None`, as JSON has no NaN.

    >>> plain(np.array([[1.5, np.nan], [np.inf, 2.0]]))
    [[1.5, None], [None, 2.0]]
    """
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value] if value.ndim else plain(value.item())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
