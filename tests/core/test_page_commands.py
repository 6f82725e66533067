"""Commands that write a page of the documentation explain themselves, and take no option for a file's name."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

PAGES = (
    "headwise.cli.python_page",
    "headwise.core.glossary",
    "headwise.core.variables_page",
    "headwise.paper.readings_page",
)


@pytest.mark.parametrize("module", PAGES)
def test_help_is_printed_and_nothing_is_written(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(module).main(["--help"])
    assert ended.value.code == 0
    assert "default: docs/" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
