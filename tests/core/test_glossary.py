"""The glossary's words, its page and `headwise --help` are one text."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from markupsafe import escape

import headwise.core.glossary
from headwise.actions.sham import Sham
from headwise.cli.main import main
from headwise.core.errors import ConfigError
from headwise.core.glossary import GLOSSARY, explain, render

RUN = Path(__file__).parents[1] / "browser" / "data" / "minimal" / "0ea5daec-s0"
PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"
WORDS = (
    "reading, stage, phase, view, pattern, group, lag, offshoot, compensation, competition index, prefix predictor, "
    "block, head"
)


def test_it_has_the_words_that_headwise_uses() -> None:
    assert set(WORDS.split(", ")) <= set(GLOSSARY)


def test_a_meaning_uses_only_words_explained_before_it() -> None:
    """Read from the top, the glossary needs no looking ahead."""
    order = list(GLOSSARY)
    for place, (word, meaning) in enumerate(GLOSSARY.items()):
        text = meaning.lower()
        for later in order[place + 1 :]:
            assert later not in text.split(), f"{word} is explained by {later}, which comes after it"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run: python -m headwise.core.glossary docs/glossary.md"


def test_a_sham_is_what_its_action_says() -> None:
    """The page said that other batches follow, as in the trials of causal claims; `--do sham` keeps them."""
    assert "equal to its parent bit for bit" in str(Sham.__doc__)
    assert "nothing is done, so that it equals that run bit for bit" in GLOSSARY["branch"]


def test_help_explains_every_word(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for word, meaning in GLOSSARY.items():
        assert f"{word} {meaning}" in shown


def test_the_html_pages_explain_every_word() -> None:
    from headwise.view.report import reproduction_page, runs_page
    from headwise.view.report.members import read_member

    for page in (runs_page([read_member(RUN)]), reproduction_page([])):
        for word, meaning in GLOSSARY.items():
            assert f"<dt>{word}</dt><dd>{escape(meaning)}</dd>" in page


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown, stderr = capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["--help"])
    assert capsys.readouterr().out == shown
    assert stderr == ""


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(ConfigError, match="'stages' is not in the glossary"):
        explain(["stages"])


def test_examples() -> None:
    assert doctest.testmod(headwise.core.glossary).failed == 0
