"""Diffuse: attention spread over all that a query can see.

The share is that of the visible tokens which the head effectively uses: the exponential of the entropy over their
number, 1 for even attention, one over their number for a head that looks at one token, which is its chance.
"""

from __future__ import annotations

import torch

from headwise.probe.role import Role, Seen, Share


def measure(seen: Seen) -> Share:
    shown = seen.shown
    used_BHQ = seen.entropy_BHQ.exp() / shown.seen_BQ[:, None]
    return Share(torch.where(shown.counted_BQ[:, None], used_BHQ, 0.0).sum(-1), shown.counted_BQ.sum(1))


ROLE = Role("diffuse", "diffuse", "looks at all tokens alike", measure, against="one token")
