"""docs/causal.md says of every claim what results/causal has: how many trials passed, of how many."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from headwise.paper.causal.claims import CLAIMS

ROOT = Path(__file__).parents[2]
SECTIONS = {
    "noise-decides": "Noise decides who leaves",
    "symmetry-barrier": "Symmetry is the barrier",
    "compensation-matters": "Compensation matters",
    "order-needs-importance": "Order needs importance",
    "late-start": "A late start takes what is left",
    "kept": "What is learned is kept",
    "sparsity-is-free": "Sparsity is free",
}


def stored(scale: str) -> dict[str, tuple[int, int]]:
    found = json.loads((ROOT / "results" / "causal" / scale / "causal.json").read_text())["verdicts"]
    return {verdict["claim"]: (verdict["passed"], len(verdict["trials"])) for verdict in found}


@pytest.mark.parametrize("claim", [claim.name for claim in CLAIMS])
def test_the_page_has_the_counts_of_the_stored_verdicts(claim: str) -> None:
    page = (ROOT / "docs" / "causal.md").read_text()
    [section] = re.findall(rf"^## {SECTIONS[claim]}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    said = {
        scale.lower(): (int(passed), int(of))
        for scale, passed, of in re.findall(r"(Quick|Paper) scale: in (\d+)\s+of\s+(\d+)", section)
    }
    assert said == {scale: stored(scale)[claim] for scale in ("quick", "paper") if claim in stored(scale)}
    assert "flow" in section, "the prediction of the flow stands beside"
