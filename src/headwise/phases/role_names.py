"""What roles are called: one name for a lag everywhere, and words for a sentence."""

from __future__ import annotations

from headwise.core.events import Label

NOT_EVENTS = ("diffuse",)
"""Roles that a head is in where it has no other; they are measured but not acquired."""

_OF_LAG = {1: "self", 2: "previous"}
_WORDS = {
    "self": "own-token",
    "previous": "previous-token",
    "first": "first-token",
    "window": "local-window",
    "induction": "induction",
    "duplicate": "duplicate-token",
}


def role_of_lag(lag: int) -> str:
    """The role of attending to one lag; lag 1 is the query's own token.

    >>> role_of_lag(2), role_of_lag(5)
    ('previous', 'lag 5')
    """
    return _OF_LAG.get(lag, f"lag {lag}")


def lag_of(role: str) -> int | None:
    """The lag behind a role, None where it is none."""
    for lag, name in _OF_LAG.items():
        if role == name:
            return lag
    return int(role.removeprefix("lag ")) if role.startswith("lag ") else None


def role_words(role: str) -> str:
    """The kind of head as a sentence names it.

    >>> role_words("previous"), role_words("lag 5"), role_words("class:newline")
    ('previous-token', 'lag-5', 'newline')
    """
    if role.startswith("class:"):
        return role.removeprefix("class:")
    return _WORDS.get(role, role.replace(" ", "-"))


def head_name(block: int, head: int, *, several_blocks: bool) -> str:
    """A head in a sentence: `head 7` of one block, else as most tools name it, counted from 0.

    >>> head_name(1, 4, several_blocks=True)
    'L0H3'
    """
    return f"L{block - 1}H{head - 1}" if several_blocks else f"head {head}"


def pattern_words(label: Label) -> str:
    """A pattern in a sentence: a group by its number, one that was found in the attention by its lags.

    >>> pattern_words(2), pattern_words("5"), pattern_words("1-3")
    ('pattern 2', 'lag 5', 'lags 1-3')
    """
    if isinstance(label, int):
        return f"pattern {label}"
    return f"lag {label}" if label.lstrip("-").isdigit() else f"lags {label}"
