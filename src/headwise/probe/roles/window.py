"""Local window: the nearest few tokens, the query's own among them. Queries that see no more than these count for share
and chance alike, so they change no score.
"""

from __future__ import annotations

from headwise.probe.role import Role, Seen, Share

WIDTH = 4
"""Lags 1 to 4; for a model that looks ahead as many tokens on the other side of the query."""


def measure(seen: Seen) -> Share:
    nearest = range(2 - WIDTH if seen.shown.ahead else 1, WIDTH + 1)
    lags = [lag for lag in nearest if 2 - seen.shown.keys <= lag <= seen.shown.keys]
    return Share(sum((seen.on_lag(lag) for lag in lags[1:]), seen.on_lag(lags[0])), seen.shown.counted_BQ.sum(1))


ROLE = Role("window", "local window", f"looks at the nearest {WIDTH} tokens", measure, against="even")
