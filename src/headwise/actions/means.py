"""What heads attend to and write on the mean, over the test sequences, when a branch begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from headwise.actions.action import Place
from headwise.actions.patterns import uniform_pattern
from headwise.actions.subject import Subject
from headwise.model.decoder import Attention
from headwise.model.engine import chunks

AT_A_TIME = 256


def mean_written(subject: Subject, places: Sequence[Place]) -> dict[Place, Tensor]:
    """The mean of what each head writes, over sequences and the positions that its block computes, (O,)."""
    return {place: total_QO.mean(0) for place, (_, total_QO) in _means(subject, places).items()}


def mean_attention(subject: Subject, places: Sequence[Place]) -> dict[Place, Tensor]:
    """The mean attention of each head by query, (S, S); queries that its block does not compute are even."""
    found = {}
    for place, (seen_QS, _) in _means(subject, places).items():
        pattern_SS = uniform_pattern(subject.decoder).clone()
        pattern_SS[-len(seen_QS) :] = seen_QS / seen_QS.sum(-1, keepdim=True)
        found[place] = pattern_SS
    return found


@torch.no_grad()
def _means(subject: Subject, places: Sequence[Place]) -> dict[Place, tuple[Tensor, Tensor]]:
    """Mean attention (Q, S) and mean of what is written (Q, O), in double precision, on the reference decoder."""
    totals: dict[Place, tuple[Tensor, Tensor]] = {}
    count = len(subject.test)

    def watch(block: int) -> Any:
        def hook(attention: Attention, given: tuple[Any, ...], result: tuple[Tensor, Tensor]) -> None:
            x_BSD, a_BHQS = given[0], result[1]
            for place in places:
                if place[0] != block:
                    continue
                seen = a_BHQS[:, place[1]].double().sum(0) / count
                written = attention.written_by(place[1], x_BSD, a_BHQS[:, place[1]]).double().sum(0) / count
                before = totals.get(place)
                totals[place] = (seen, written) if before is None else (before[0] + seen, before[1] + written)

        return hook

    hooks = [layer.attention.register_forward_hook(watch(i)) for i, layer in enumerate(subject.decoder.layers)]
    try:
        for part in chunks(count, AT_A_TIME):
            subject.decoder(subject.test[part], subject.counted)
    finally:
        for hook in hooks:
            hook.remove()
    return totals
