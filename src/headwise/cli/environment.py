"""Variables of the environment that libraries stumble over, put right before any of them is loaded."""

from __future__ import annotations

import os
import re

from headwise.cli.streams import say

WIDEST = 1000
"""Columns and lines of a terminal; a larger number is no size of one."""


def prepare_environment() -> None:
    """One thread a run unless the user asks for another number, no window system, and sizes that are numbers."""
    threads = os.environ.setdefault("OMP_NUM_THREADS", "1")
    if re.fullmatch(r"[1-9][0-9]{0,4}(,[1-9][0-9]{0,4})*", threads) is None:
        say(f"OMP_NUM_THREADS is {threads!r}, which is no number of threads; 1 is taken")
        os.environ["OMP_NUM_THREADS"] = "1"
    for name in ("COLUMNS", "LINES"):
        size = os.environ.get(name, "")
        if re.fullmatch(r"[0-9]{1,4}", size) is None or not 0 < int(size) <= WIDEST:
            os.environ.pop(name, None)
    # Figures go to files. A name that matplotlib does not know would otherwise stop its import.
    os.environ["MPLBACKEND"] = "agg"
