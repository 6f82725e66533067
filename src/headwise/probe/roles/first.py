"""First token: each sequence's first real one, by the queries after it. A sink looks the same."""

from __future__ import annotations

import torch

from headwise.probe.role import Role, Seen, Share


def measure(seen: Seen) -> Share:
    shown, weights = seen.shown, seen.weights_BHQK
    first_B = shown.valid_BK.int().argmax(1)
    position_Q = torch.arange(shown.offset, shown.keys, device=weights.device)
    later_BQ = shown.counted_BQ & (position_Q > first_B[:, None])
    at_first = weights.gather(-1, first_B[:, None, None, None].expand(*weights.shape[:3], 1))[..., 0]
    return Share(torch.where(later_BQ[:, None], at_first, 0.0).sum(-1), later_BQ.sum(1))


ROLE = Role("first", "first token", "looks at the first token", measure, against="even")
