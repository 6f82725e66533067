"""All numbers of the truth, in one place; `truth_hash` identifies them together with the code that uses them."""

from __future__ import annotations

import hashlib
from pathlib import Path

ABSENT = 0.12
"""Excess share, or induction score, that was never reached: the head never did this."""
BEFORE = 0.10
"""Below this the head does not yet do it, or does not do it any more."""
CLEAR_LAG = 0.30
"""Excess share of a lag from which a head clearly attends it."""
CLEAR_INDUCTION = 0.40
"""Induction score from which a head clearly does induction."""
HELD_LOOKS = 5
"""Looks in a row for which it must be held to be clear; fewer is borderline."""
RISE = (0.2, 0.8)
"""An acquisition lasts from this share of the rise to that share of it."""
SECOND_RISE = 0.15
"""A dip and a new rise of at least this, while it is held, is borderline: some would call it a second acquisition."""

LEFT = 0.5
"""Share of its old lag's height that a head must lose to have left it clearly."""
KEPT = 0.15
"""Share of its old lag's height up to which a head that takes another one has clearly only added it."""

MAYBE_HELD = 0.20
"""Excess share that old and new lag must both reach for an exchange to be even borderline."""

COMPETING = 0.15
"""Excess share that every head of a block must have on the same lag, its largest, to compete for it clearly."""
COMPETING_LOOKS = 3
COMPETING_GROWTH = 1.5
"""Looks in a row, and factor between the steps of the first and the last of them."""
TOUCHING = 0.05
TOUCHING_LOOKS = 2
"""Borderline: the same largest lag in all heads with at least this, or a lag that none of them neglects (`ABSENT`)."""

FLAT_SPAN = 0.08
FLAT_FALL = 0.04
"""Flat: over this share of the run's steps the loss moves by at most this share of its range over the whole run."""
DROP = 0.10
DROP_NATS = 0.03
"""A clear drop lies between two flat stretches and is at least this share of the range, and this many nats."""
STEEPER = 4.0
"""The middle of a clear drop is so many times as steep as the flat stretches on both sides."""
ONE_DROP = 4.0
"""Longest over shortest third of the middle of a clear drop; beyond, it may be two drops that nobody can part."""
BORDERLINE_DROP = 0.04
BORDERLINE_NATS = 0.01
"""A fall of at least this, anywhere outside flat stretches, is borderline where it is not clear."""


def truth_hash() -> str:
    """SHA-256 of this room's definitions: every source file of `zoo.truth`, in order of their names."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()
