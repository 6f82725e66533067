"""A short form of every part of the battery; `make faults` runs all of it."""

from __future__ import annotations

import pytest

from tests.faults.parts import PARTS, Part

SECONDS = 200.0
"""Far more than a short form needs; a part that does not reach its count in this time has not passed."""


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_short_form(part: Part) -> None:
    counts = part.run(part.short, seconds=SECONDS, seed=part.seed)
    if counts.not_possible:
        pytest.skip(counts.not_possible)
    assert counts.passed, "\n".join([str(counts.to_json()), *counts.findings])
