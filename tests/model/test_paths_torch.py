"""The torch path computes the reference decoder's function: loss, gradients, logits, attention, in float64."""

from __future__ import annotations

import pytest
import torch
from path_grid import GRID, gradient, random_batch, random_decoder

from headwise.model.config import ModelConfig
from headwise.model.reference import ReferenceEngine
from headwise.model.tabulated import TabulatedEngine


@pytest.mark.parametrize("config", GRID.values(), ids=GRID)
def test_gradients_equal_the_reference(config: ModelConfig) -> None:
    decoder = random_decoder(config)
    inputs, targets = random_batch(decoder, 47)
    loss = ReferenceEngine(decoder, dropout_seed=3, chunk=50).loss_and_gradients(inputs, targets, step=2)
    expected = gradient(decoder)
    # A chunk that does not divide the batch, so that the last one is ragged.
    got = TabulatedEngine(decoder, dropout_seed=3, chunk=3).loss_and_gradients(inputs, targets, step=2)
    assert abs(got - loss) < 1e-12 * abs(loss)
    assert torch.linalg.norm(gradient(decoder) - expected) < 1e-10 * torch.linalg.norm(expected)


@pytest.mark.parametrize("config", GRID.values(), ids=GRID)
def test_evaluation_equals_the_reference(config: ModelConfig) -> None:
    decoder = random_decoder(config)
    inputs, targets = random_batch(decoder, 47)
    counted = targets.shape[1]
    with torch.no_grad():
        expected, attention = decoder(inputs, counted)
    logits = torch.zeros_like(expected)

    def visit(rows: slice, chunk: torch.Tensor) -> None:
        logits[rows] = chunk

    summary = TabulatedEngine(decoder, dropout_seed=3, chunk=3).evaluate(inputs, counted=counted, visit=visit)
    torch.testing.assert_close(logits, expected, rtol=1e-11, atol=1e-12)
    torch.testing.assert_close(summary.map[0], attention[0].mean(0), rtol=1e-11, atol=1e-13)
    entropy = torch.special.entr(attention[0]).sum(-1).mean((0, 2))
    torch.testing.assert_close(summary.entropy[0], entropy, rtol=1e-10, atol=1e-12)
