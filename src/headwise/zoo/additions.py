"""Why no addition is clear: what heads of a part keep of one lag while they take up another.

Counts exchanges as `truth.exchange` does and keeps the numbers that decide there. Nothing is scored with these.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headwise.zoo.kinds import find_kind
from headwise.zoo.stored import complete_runs, read_run
from headwise.zoo.truth.lag import lag_rises
from headwise.zoo.truth.numbers import CLEAR_LAG, KEPT, MAYBE_HELD
from headwise.zoo.truth.shares import Shares, measure_shares


@dataclass(frozen=True)
class Exchange:
    """A head that holds one lag takes up another: excess share of the first as the second begins to rise, largest
    excess share of the second, and the most that the first loses, as a part of its own.
    """

    run: str
    held: float
    taken: float
    lost: float
    clear_rise: bool


def exchanges_of(run: str, shares: Shares) -> list[Exchange]:
    """Every exchange of a run that is at least borderline."""
    found = []
    _, blocks, heads, _ = shares.excess_TNHL.shape
    for block in range(blocks):
        for head in range(heads):
            curves = shares.excess_TNHL[:, block, head]
            for new, rise in lag_rises(shares, block, head):
                others = np.delete(np.arange(len(shares.lags)), new)
                risen = int(np.searchsorted(shares.steps, rise.end))
                taken = float(curves[rise.first : rise.last + 1, new].max())
                if min(float(curves[: risen + 1, others].max()), taken) < MAYBE_HELD:
                    continue
                old = int(others[curves[rise.begun, others].argmax()])
                height, during = float(curves[rise.begun, old]), curves[rise.begun : rise.last + 1, old]
                lost = 1 - float(during.min()) / height if height > 0 else 1.0
                found.append(Exchange(run, height, taken, lost, rise.value == "clear"))
    return found


def count_additions(folder: Path, *, part: str) -> dict[str, Any]:
    """How near the runs of a part come to a clear addition, as plain values."""
    found = []
    for mark in complete_runs(folder):
        stored = read_run(mark)
        kind = find_kind(stored.kind)
        if not kind.nothing:
            found += exchanges_of(mark.stem, measure_shares(stored, kind.make(stored.setting, stored.seed).model))
    held = [one for one in found if one.clear_rise and one.held >= CLEAR_LAG]
    near = [one for one in found if one.clear_rise and one.held < CLEAR_LAG and one.lost <= KEPT]
    return {
        "part": part,
        "exchanges": len(found),
        "clearly_held": len(held),
        "least_lost": min((one.lost for one in held), default=None),
        "kept_but_not_clearly_held": [asdict(one) for one in sorted(near, key=lambda one: -one.held)],
    }
