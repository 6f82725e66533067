"""A head acquires induction: it comes to attend what followed earlier copies of its token, because of the tokens."""

from __future__ import annotations

import numpy as np

from headwise.zoo.truth.event import Event
from headwise.zoo.truth.numbers import CLEAR_INDUCTION
from headwise.zoo.truth.rises import find_rises
from headwise.zoo.truth.shares import Shares


def find_inductions(shares: Shares) -> list[Event]:
    """Acquisitions of induction by all heads; none where no token of the batch has an earlier copy."""
    _, blocks, heads = shares.induction_TNH.shape
    return [
        Event("induction", rise.value, rise.start, rise.end, block + 1, head + 1)
        for block in range(blocks)
        for head in range(heads)
        if np.isfinite(curve := shares.induction_TNH[:, block, head]).all()
        for rise in find_rises(shares.steps, curve, CLEAR_INDUCTION)
    ]
