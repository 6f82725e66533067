"""What helps against damage, for runs that are computed again as a whole rather than resumed."""

from __future__ import annotations

import re
from pathlib import Path

from headwise.core.errors import CorruptData


def to_be_removed(error: CorruptData, run: Path, *, then: str) -> CorruptData:
    """The same damage, with removing the run as its cure in place of what `headwise train` offers."""
    problem = re.split("; (?:--recover|move) ", str(error))[0]
    return CorruptData(f"{problem}; remove {run} to {then}")
