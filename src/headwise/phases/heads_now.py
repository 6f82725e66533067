"""What each head does at one look, in one word and two numbers, without the judgement of a report.

A report says which roles are taken up for good and which may be luck. This is only the largest score at one moment, for
`print` and for tables; a head that does nothing above chance gets no word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from headwise.core.head_counts import head_counts
from headwise.core.text import text_table
from headwise.phases.chance import excess_share
from headwise.phases.role_names import NOT_EVENTS, head_name, lag_of, role_of_lag

WORTH_A_WORD = 0.2
"""Score above chance from which a head is said to do something."""
COLUMNS = ("head", "block", "number", "looks at", "share", "by chance", "above chance")


@dataclass(frozen=True)
class HeadNow:
    """The role in which a head goes furthest above chance; `role` is None where none is worth a word.

    `score` is NaN where the head's attention is not finite, as after a training has diverged: nothing is known of it.
    """

    block: int
    head: int
    role: str | None
    score: float
    chance: float

    @property
    def name(self) -> str:
        """The head as most tools call it, counted from 0."""
        return head_name(self.block, self.head, several_blocks=True)

    @property
    def share(self) -> float:
        """The share of attention that goes to the role."""
        return self.score * (1 - self.chance) + self.chance


def role_text(role: str) -> str:
    """Where a role looks, with its lag, since lag 1 is the query's own token.

    >>> role_text("previous"), role_text("lag 5"), role_text("induction")
    ('lag 2 (previous token)', 'lag 5', 'induction')
    """
    named = {"self": "lag 1 (own token)", "previous": "lag 2 (previous token)", "first": "first token"}
    named |= {"window": "nearest 4 tokens", "duplicate": "copies of its token"}
    return named.get(role, role.removeprefix("class:"))


def heads_now(trajectory: xr.Dataset, *, look: int = -1) -> list[HeadNow]:
    """Every head at one look; empty where neither roles nor lags with their chance were recorded."""
    tables = [table for table in (_by_lag(trajectory, look), _named(trajectory, look)) if table is not None]
    if not tables:
        return []
    names = [name for table in tables for name in table[0]]
    scores = np.concatenate([table[1] for table in tables], axis=-1)
    chance = np.concatenate([table[2] for table in tables], axis=-1)
    return list(_heads(names, scores, chance, head_counts(trajectory)))


def heads_text(found: list[HeadNow]) -> str:
    """A table for a terminal of 80 columns."""
    rows = [
        (
            one.name,
            str(one.block),
            str(one.head),
            _looks_at(one),
            *(("", "", "") if one.role is None else (f"{one.share:.2f}", f"{one.chance:.2f}", f"{one.score:.2f}")),
        )
        for one in found
    ]
    return text_table(COLUMNS, rows, align="lrrlrrr", repeat=1)


def _looks_at(one: HeadNow) -> str:
    if np.isnan(one.score):
        return "cannot tell: not finite"
    return "nothing in particular" if one.role is None else role_text(one.role)


def _heads(names: list[str], scores: np.ndarray, chance: np.ndarray, counts: list[int]) -> Iterator[HeadNow]:
    for block, head in ((block, head) for block, count in enumerate(counts) for head in range(count)):
        if not np.isfinite(scores[block, head]).any():
            yield HeadNow(block + 1, head + 1, None, np.nan, np.nan)
            continue
        own = np.nan_to_num(scores[block, head], nan=-1.0)
        best = int(own.argmax())
        if names[best] == "window":
            # A window of one lag is that lag, as in a report.
            lags = [i for i, name in enumerate(names) if lag_of(name) is not None]
            nearest = max(lags, key=lambda i: own[i], default=best)
            best = nearest if own[nearest] >= own[best] / 2 else best
        role = names[best] if own[best] >= WORTH_A_WORD else None
        yield HeadNow(block + 1, head + 1, role, float(own[best]), float(chance[block, head, best]))


def _by_lag(trajectory: xr.Dataset, look: int) -> tuple[list[str], np.ndarray, np.ndarray] | None:
    if "attention_by_lag" not in trajectory or "lag_chance" not in trajectory:
        return None
    at = trajectory.isel(step=look)
    shares = at["attention_by_lag"].transpose("block", "head", "lag").values
    even = at["lag_chance"].values
    if "lag_chance_by_block" in at:
        even = at["lag_chance_by_block"].transpose("block", "lag").values[:, None]
    chance = np.broadcast_to(even, shares.shape)
    return [role_of_lag(int(lag)) for lag in at["lag"].values], excess_share(shares, chance), chance


def _named(trajectory: xr.Dataset, look: int) -> tuple[list[str], np.ndarray, np.ndarray] | None:
    """Roles that no lag tells."""
    if "role_score" not in trajectory:
        return None
    by_lag = "lag_chance" in trajectory and "attention_by_lag" in trajectory
    names = [str(role) for role in trajectory["role"].values]
    wanted = [i for i, name in enumerate(names) if name not in NOT_EVENTS and not (by_lag and lag_of(name) is not None)]
    at = trajectory.isel(step=look, role=wanted)
    scores = np.array(at["role_score"].transpose("block", "head", "role").values, dtype=float)
    chance = np.zeros_like(scores)
    if "role_chance" in at:
        chance = np.array(at["role_chance"].transpose("block", "head", "role").values, dtype=float)
    return [names[i] for i in wanted], scores, chance
