"""Self: the query's own token, lag 1."""

from __future__ import annotations

from headwise.probe.role import Role, Seen, Share


def measure(seen: Seen) -> Share:
    return Share(seen.on_lag(1), seen.shown.counted_BQ.sum(1))


ROLE = Role("self", "self", "looks at the token itself", measure, against="even")
