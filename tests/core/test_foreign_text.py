"""TOML and JSON of others: values or a ValueError, and never more than a bounded part of a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headwise.core.errors import ConfigError
from headwise.core.foreign_text import LARGEST_BYTES, parse_json, parse_toml, read_foreign
from headwise.core.given_path import LONGEST_NAME, LONGEST_PATH, given_path


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000, "9" * 10_000, "{"])
def test_json_that_is_none_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_json(text)


@pytest.mark.parametrize(
    "text", [f"a = {'[' * 5000}{']' * 5000}", f"a = {'{b=' * 5000}", f"a = {'9' * 10_000}", "= 1", "a = 1\na = 2"]
)
def test_toml_that_is_none_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_toml(text)


def test_a_file_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 16 MiB"):
        read_foreign(Path("/dev/zero"))


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes("name = 'größe'".encode("latin-1"))
    with pytest.raises(ValueError, match="utf-8"):
        read_foreign(tmp_path / "latin.toml")
    (tmp_path / "long").write_bytes(b" " * LARGEST_BYTES)
    assert len(read_foreign(tmp_path / "long")) == LARGEST_BYTES


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("a\0b", "null character"),
        ("x" * (LONGEST_NAME + 1), "256 bytes"),
        ("a/" + "ж" * 128 + "/b", "256 bytes"),
        ("a/" * 2048, "4096 bytes"),
        ("\ud800", "no file name can have"),
    ],
)
def test_paths_that_cannot_be(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        given_path(text)
    assert len(str(caught.value)) < 200
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", [".", "x" * LONGEST_NAME, ("a" * 254 + "/") * 16, "модель", os.fsdecode(b"bad-\xff"), "a\nb", "[/red]"]
)
def test_paths_that_can_be(text: str) -> None:
    assert len(text) <= LONGEST_PATH
    assert given_path(text) == Path(text)
