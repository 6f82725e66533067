"""Text from outside: whatever it holds, it can be shown, stored and encoded."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwise.core.readable import BYTES_OR_ESCAPE, on_one_line, readable, without_control

any_text = st.text(st.characters(exclude_categories=()))
"""Lone surrogates too, which ordinary text never has."""


@given(any_text)
def test_readable_text_is_valid_unicode_and_stays_as_it_is(text: str) -> None:
    shown = readable(text)
    shown.encode("utf-8")
    assert readable(shown) == shown
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return
    assert shown == text


@given(st.binary(max_size=40))
def test_bytes_of_a_file_name_come_back(name: bytes) -> None:
    assert os.fsdecode(name).encode("utf-8", BYTES_OR_ESCAPE) == name


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@given(text=any_text)
def test_every_text_has_bytes_in_every_encoding(encoding: str, text: str) -> None:
    text.encode(encoding, BYTES_OR_ESCAPE)


def test_what_cannot_be_encoded_is_escaped() -> None:
    assert "§ β".encode("ascii", BYTES_OR_ESCAPE) == rb"\xa7 \u03b2"
    assert readable(os.fsdecode(b"\xd0\xbc\xff")) == "м\\xff"
    assert readable("\ud800") == "\\ud800"


@given(any_text)
def test_no_control_character_is_left(text: str) -> None:
    shown = without_control(text)
    assert not [c for c in shown if (ord(c) < 32 and c not in "\t\n") or 127 <= ord(c) < 160]
    assert shown.count("\n") == text.count("\n")
    assert len(on_one_line(text).splitlines()) <= 1


def test_a_terminal_is_not_steered() -> None:
    assert without_control("a\x1b]0;title\x07b") == "a\\x1b]0;title\\x07b"
    assert without_control("abc\u202ecba") == "abc\\u202ecba"
