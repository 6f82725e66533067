"""A short form of every part of the battery; `make faults` runs all of it."""

from __future__ import annotations

import pytest

from tests.faults.parts import PARTS, Part

SECONDS = 200.0
"""Far more than a short form needs; a part that does not reach its count in this time has not passed."""

FINDS_DEFECTS: dict[str, str] = {}
"""Parts whose short form is known to find something today. Strict: once it finds nothing, its line must go."""

OPEN_BY_CHANCE = {
    "signals": "sweep, reproduce and collect do not save on SIGTERM, which a short form meets only now and then",
    "fuzzing": "damaged headers of token files can end in a traceback, found or not by the first few hundred inputs",
}
"""Parts with known defects that so few cases may miss: neither outcome says anything until these are mended."""


def _marks(name: str) -> list[pytest.MarkDecorator]:
    if name in FINDS_DEFECTS:
        return [pytest.mark.xfail(strict=True, reason=FINDS_DEFECTS[name])]
    return [pytest.mark.xfail(reason=OPEN_BY_CHANCE[name])] if name in OPEN_BY_CHANCE else []


@pytest.mark.parametrize("part", [pytest.param(part, id=part.name, marks=_marks(part.name)) for part in PARTS])
def test_a_short_form(part: Part) -> None:
    counts = part.run(part.short, seconds=SECONDS, seed=part.seed)
    if counts.not_possible:
        pytest.skip(counts.not_possible)
    assert counts.passed, "\n".join([str(counts.to_json()), *counts.findings])
