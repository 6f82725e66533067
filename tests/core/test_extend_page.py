"""The blocks of docs/extend.md run, one after the other, as its readers would run them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "extend.md"


def test_the_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    names = {"__name__": "page"}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"<block {number} of {PAGE.name}>", "exec"), names)
