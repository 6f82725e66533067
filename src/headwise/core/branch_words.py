"""What was done in a branch, in the words that commands, figures and pages share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def done_in(about: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> str:
    """The actions of a branch, the config keys that it changes where they are known, and what its parent held on.

    >>> from headwise.core.branch_words import done_in
    >>> done_in({"actions": ["scale:by=0.5"], "held": ["tie"]}, {"task.m": 1.3})
    'scale:by=0.5, task.m = 1.3; tie goes on'
    """
    changed = [f"{key} = {value}" for key, value in (changes or {}).items()]
    done = ", ".join([*about["actions"], *changed]) or "no action"
    held = about.get("held") or ()
    return f"{done}; {', '.join(held)} {'goes' if len(held) == 1 else 'go'} on" if held else done
