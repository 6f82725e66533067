"""The first 15 lines of the README, run to the letter: roles that raw attention confirms, on a page that works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe

from headwise.phases.role_names import lag_of

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script leaves behind: its names, and the page in a folder."""
    pytest.importorskip("transformers")
    code = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    assert len(code[1].strip().splitlines()) <= 15
    folder = tmp_path_factory.mktemp("readme")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        torch.manual_seed(0)
        names: dict[str, Any] = {}
        exec(compile(code[1], "README.md", "exec"), names)
    return {**names, "folder": folder}


def raw_attention(done: dict[str, Any]) -> list[torch.Tensor]:
    """Maps (sequences, heads, queries, keys) of each block, from the model's own output."""
    model = done["model"].eval()
    model.set_attn_implementation("eager")
    with torch.no_grad():
        return list(model(input_ids=done["w"].probe.batch.tokens, output_attentions=True).attentions)


def test_the_roles_it_states_are_in_the_raw_attention(done: dict[str, Any]) -> None:
    roles = [role for role in done["w"].report().roles if role.end >= 150]
    assert roles, "the heads do take something up"
    maps = raw_attention(done)
    for role in roles:
        lag = lag_of(role.role)
        assert lag is not None, role
        mean = maps[role.block - 1][:, role.head - 1].mean(0)
        shares = {k: float(torch.diagonal(mean, offset=1 - k).mean()) for k in range(1, 12)}
        assert max(shares, key=shares.__getitem__) == lag
        assert shares[lag] > 0.5
    assert {role.role for role in roles} == {"lag 3"}, "the language repeats what was three places before"


def test_its_page_says_the_same_and_works(done: dict[str, Any], open_page) -> None:
    watched = open_page(done["folder"] / "heads.html")
    page = watched.page
    assert page.locator("h1").inner_text() == "GPT2LMHeadModel"
    page.evaluate("headwise.goTo(150)")
    watched.settle()
    held = {(role.block, role.head) for role in done["w"].report().roles if role.end >= 150}
    shown = [row.locator("td").all_inner_texts() for row in page.locator(".grid-roles tbody tr").all()]
    assert {(b + 1, k + 1) for b, row in enumerate(shown) for k, text in enumerate(row) if text} == held
    assert {text for row in shown for text in row if text} == {"lag 3"}
    summary = page.locator(".summary").inner_text()
    assert all(f"L{block - 1}H{head - 1} from step" in summary for block, head in held)
    assert watched.complaints == []
    assert Axe().run(page).response["violations"] == []
