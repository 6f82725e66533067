"""Previous token: lag 2, of queries that have one before them."""

from __future__ import annotations

import torch

from headwise.probe.role import Role, Seen, Share


def measure(seen: Seen) -> Share:
    shown = seen.shown
    before_BK = torch.nn.functional.pad(shown.valid_BK, (1, 0))[:, :-1]
    has_one = shown.counted_BQ & before_BK[:, shown.offset :]
    return Share(seen.on_lag(2), has_one.sum(1))


ROLE = Role("previous", "previous token", "looks at the token before", measure, against="even")
