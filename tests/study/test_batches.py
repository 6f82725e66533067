"""Passes over a fixed set: every sequence once in each, in an order that depends on seed and pass alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headwise.core.seeds import Stream, generator
from headwise.training import batches
from headwise.training.batches import finite_batches
from headwise.training.config import TrainConfig
from headwise.training.passes import drops, share_with_dropout

SEQUENCES = torch.arange(11)[:, None].expand(11, 3)
CONFIG = TrainConfig(samples=11, batch=4)


def test_every_pass_has_every_sequence_once_in_its_own_order() -> None:
    batch = finite_batches(SEQUENCES, CONFIG, 5)
    for index in (0, 2, 1, 0):
        seen = torch.cat([batch(3 * index + place) for place in range(3)])[:, 0]
        assert seen.tolist() == generator(5, Stream.BATCHES, index).permutation(11).tolist()


def test_a_step_out_of_turn_gets_what_it_would_have_had() -> None:
    in_turn = finite_batches(SEQUENCES, CONFIG, 5)
    expected = [in_turn(step) for step in range(9)]
    out_of_turn = finite_batches(SEQUENCES, CONFIG, 5)
    for step in (8, 0, 4, 3, 7):
        assert torch.equal(out_of_turn(step), expected[step])


def test_a_pass_is_shuffled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shuffled: list[int] = []

    def noted(seed: int, stream: Stream, index: int) -> np.random.Generator:
        shuffled.append(index)
        return generator(seed, stream, index)

    monkeypatch.setattr(batches, "generator", noted)
    batch = finite_batches(SEQUENCES, CONFIG, 5)
    for step in range(7):
        batch(step)
    assert shuffled == [0, 1, 2]


def test_dropout_acts_in_every_step_or_in_the_first_of_each_pass() -> None:
    assert all(drops(CONFIG, step) for step in range(7))
    assert share_with_dropout(CONFIG) == 1
    first = CONFIG.changed({"dropout_steps": "first-of-pass"})
    assert [step for step in range(10) if drops(first, step)] == [0, 3, 6, 9]
    assert share_with_dropout(first) == pytest.approx(1 / 3)
    whole = first.changed({"batch": 11})
    assert all(drops(whole, step) for step in range(7))
