"""A head's change of pattern, in the one form that the flow and the detector share (§2.3, §3)."""

from __future__ import annotations

from dataclasses import dataclass

Label = int | str
"""What a pattern is called: the number of its group, counted from 1, or its lags as text where groups are not known."""


@dataclass(frozen=True)
class Offshoot:
    """Head `head` of block `block` leaves pattern `source` for pattern `target` at `step`; all counted from 1.

    `interval` is the time that leaving takes, where it was measured.
    """

    step: float
    head: int
    source: Label
    target: Label
    block: int = 1
    interval: tuple[float, float] | None = None
