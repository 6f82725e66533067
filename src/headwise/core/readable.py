"""Text that came from outside (paths, labels, names in somebody's file), made fit to be shown.

A file name need not be text: on Unix it is bytes, and those that are no UTF-8 are kept by Python as lone surrogates,
which no encoder takes. Names may also hold line breaks and the control characters by which terminals are steered.
"""

from __future__ import annotations

import codecs
import re

BYTES_OR_ESCAPE = "headwise.bytes-or-escape"
"""Name of an error handler for encoders: bytes of a file name come back, all else becomes an escape like `\\u03b2`."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters but for the tab and the line feed, and what reverses the direction of a line."""


def readable(text: str) -> str:
    """The text as valid Unicode: bytes of a file name that are no UTF-8 are shown as `\\xff`.

    >>> readable("plain"), readable("run-\\udcff")
    ('plain', 'run-\\\\xff')
    """
    return text.encode("utf-8", BYTES_OR_ESCAPE).decode("utf-8", "backslashreplace")


def without_control(text: str) -> str:
    """Lines of text whose control characters are shown as escapes, so that a name cannot steer a terminal.

    >>> without_control("red: \\x1b[31m")
    'red: \\\\x1b[31m'
    """
    return _CONTROL.sub(lambda found: _escaped(found[0]), text)


def on_one_line(text: str) -> str:
    """`without_control`, and line breaks and other runs of white space as one space."""
    return without_control(" ".join(text.split()))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _bytes_or_escape(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    parts = [
        bytes([ord(one) - 0xDC00]) if "\udc80" <= one <= "\udcff" else _escaped(one).encode("ascii") for one in wrong
    ]
    return b"".join(parts), error.end


codecs.register_error(BYTES_OR_ESCAPE, _bytes_or_escape)
