"""What is said about reliability is what was counted, and names tests that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.faults.page import COUNTS, PAGE, render
from tests.faults.parts import PARTS

ROOT = Path(__file__).parents[2]


def test_the_page_is_made_from_the_counts_of_a_full_battery() -> None:
    document = json.loads((ROOT / COUNTS).read_text(encoding="utf-8"))
    wanted = {result["part"]: result["wanted"] for result in document["parts"]}
    assert wanted == {part.name: part.count for part in PARTS}, "run make faults"
    assert (ROOT / PAGE).read_text(encoding="utf-8") == render(document), "run python -m tests.faults.page"


def test_the_promises_name_tests_and_parts_that_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/.]+)`", text)
    assert len(named) > 4
    assert [name for name in named if not (ROOT / name).exists()] == []
    parts = re.findall(r"\*(\w+)\*(?!\*)", re.sub(r"\*\*.*?\*\*", "", text))
    assert (
        {"damage", "crashes", "errors", "signals", "reading"} <= set(parts) <= {part.name for part in PARTS} | {"and"}
    )
