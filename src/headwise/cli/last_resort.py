"""One line for an error that no command has answered itself: of the machine, or of what was given."""

from __future__ import annotations

import os

from headwise.core.errors import HeadwiseError
from headwise.core.readable import on_one_line

_NO_THREAD = "can't start new thread"
_NO_MEMORY = "can't allocate memory"
"""How Python and torch say that the machine has no more of these; both raise a plain RuntimeError."""


def explain_error(error: Exception) -> str | None:
    """The line, or `None` for a mistake in the program, whose traceback is wanted."""
    match error:
        case HeadwiseError():
            return on_one_line(str(error))
        case OSError():
            return _system(error)
        case MemoryError():
            return "out of memory; free some or make the run smaller"
        case RecursionError():
            return "something that was given is nested too deeply"
        case UnicodeError():
            return f"some text is in another encoding than the one needed here: {on_one_line(str(error))}"
        case ImportError():
            return f"a library cannot be loaded: {on_one_line(str(error))}"
        case RuntimeError() if _NO_THREAD in str(error):
            return "no more threads or processes can be started; end some or raise the limit (ulimit -u)"
        case RuntimeError() if _NO_MEMORY in str(error):
            return "out of memory; free some or make the run smaller"
    return None


def _system(error: OSError) -> str:
    if isinstance(error, FileNotFoundError) and not _working_directory_exists():
        return "the working directory no longer exists; change to one that does"
    reason = on_one_line((error.strerror or str(error) or type(error).__name__).lower())
    if error.filename is None:
        return reason
    return f"{on_one_line(os.fsdecode(error.filename))}: {reason}"


def _working_directory_exists() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True
