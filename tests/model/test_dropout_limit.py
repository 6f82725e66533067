"""The largest dropout rate of a config is the largest that keeps anything."""

from __future__ import annotations

import math

from headwise.model.config import NO_LONGER_KEEPS
from headwise.model.dropout import RESOLUTION, kept_scale, threshold


def test_the_limit_is_where_nothing_would_be_kept() -> None:
    assert threshold(NO_LONGER_KEEPS) == RESOLUTION
    below = math.nextafter(NO_LONGER_KEEPS, 0.0)
    assert threshold(below) == RESOLUTION - 1
    assert math.isclose(kept_scale(below), RESOLUTION)
