"""What token ids say, by whatever the user has: a tokenizer, a function, a vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headwise.core.errors import ConfigError
from headwise.core.readable import on_one_line, readable

LONGEST = 40
"""Characters of a token that are kept."""
FORMS = "give a tokenizer, a function from a list of ids to text, or a list or mapping of texts by id"


def token_labels(decode: Any, ids: Iterable[int]) -> dict[int, str]:
    """The text of each id, cut to `LONGEST` characters.

    >>> token_labels(["a", "b"], [1]), token_labels(lambda ids: "".join(map(chr, ids)), [72])
    ({1: 'b'}, {72: 'H'})
    """
    one = _reader(decode)
    found = {}
    for token in sorted(ids):
        try:
            text = one(int(token))
        except Exception as error:  # whatever a tokenizer of somebody else raises
            reason = on_one_line(readable(str(error)))[:200] or type(error).__name__
            raise ConfigError(f"decode: token {token} has no text ({reason}); {FORMS}") from None
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        if not isinstance(text, str):
            raise ConfigError(f"decode gives a {type(text).__name__} for token {token}, not text; {FORMS}")
        found[token] = readable(text)[:LONGEST]
    return found


def _reader(decode: Any) -> Callable[[int], Any]:
    """A function from one id to its text."""
    method = getattr(decode, "decode", None)
    if callable(method) and not isinstance(decode, str | bytes):
        return lambda token: method([token])
    if isinstance(decode, Mapping) or (isinstance(decode, Sequence) and not isinstance(decode, bytes)):
        return lambda token: decode[token]
    if callable(decode):
        return lambda token: _called(decode, token)
    raise ConfigError(f"decode is a {type(decode).__name__}; {FORMS}")


def _called(decode: Callable[[Any], Any], token: int) -> Any:
    """A function of a list of ids, as tutorials write it, or else of one id."""
    try:
        return decode([token])
    except (TypeError, KeyError, IndexError):
        return decode(token)
