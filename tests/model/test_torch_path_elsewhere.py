"""The torch path away from the CPU: masks drawn by torch, every model on the meta device, and under `torch.compile`."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from path_grid import GRID, gradient, random_batch, random_decoder

from headwise.bench.device_work import counted
from headwise.model.dropout import Site, keep_bits, keep_bits_on, stream_keys, stream_keys_on
from headwise.model.tabulated import TabulatedEngine


@pytest.mark.parametrize("elements", [1, 4, 37])
def test_masks_drawn_by_torch_are_the_same(elements: int) -> None:
    keys = np.random.default_rng(0).integers(0, 1 << 64, 50, dtype=np.uint64)
    for rate in (0.1, 0.5, 0.97):
        drawn = keep_bits_on(torch.from_numpy(keys.view(np.int64)), elements, rate)
        assert np.array_equal(drawn.numpy(), keep_bits(keys, elements, rate))


@pytest.mark.parametrize("seed", [0, 5, (1 << 63) - 1, 1 << 63, (1 << 64) + 7, -3])
def test_keys_made_by_torch_are_the_same(seed: int) -> None:
    for step, block, first in ((0, 0, 0), (123_456, 2, 250)):
        for site in Site:
            made = stream_keys_on(
                torch.device("cpu"), seed=seed, step=step, block=block, site=site, first=first, count=40
            )
            expected = stream_keys(seed=seed, step=step, block=block, site=site, sequences=np.arange(first, first + 40))
            assert np.array_equal(made.numpy().view(np.uint64), expected)


@pytest.mark.parametrize("name", GRID)
def test_every_model_has_gradients_on_the_meta_device(name: str) -> None:
    decoder = random_decoder(GRID[name]).float()
    inputs, targets = random_batch(decoder, 7)
    engine = TabulatedEngine(decoder, dropout_seed=3, chunk=3)
    engine.loss_and_gradients(inputs, targets, step=2)
    with_gradient = [p.grad is not None for p in decoder.parameters()]
    decoder.zero_grad()
    decoder.to("meta")
    losses = TabulatedEngine(decoder, dropout_seed=3, chunk=3).summed_losses(
        inputs.to("meta"), targets.to("meta"), step=2
    )
    assert losses.device.type == "meta"
    for parameter, has in zip(decoder.parameters(), with_gradient, strict=True):
        assert (parameter.grad is not None) == has
        assert parameter.grad is None or parameter.grad.shape == parameter.shape
        assert parameter.grad is None or parameter.grad.device.type == "meta"


def test_work_by_hand() -> None:
    a, b = torch.empty(3, 5, device="meta"), torch.empty(5, 7, device="meta")
    found = counted(lambda: (a @ b).view(7, 3))
    assert found == (2 * 3 * 5 * 7, 4 * (15 + 35 + 21), 1, 4 * 21)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minimal", "text, no dropout", "text", "two published"])
def test_compiled_steps_have_the_same_gradients(name: str) -> None:
    decoder = random_decoder(GRID[name])
    inputs, targets = random_batch(decoder, 6)
    engine = TabulatedEngine(decoder, dropout_seed=3, chunk=3)
    compiled = torch.compile(engine.loss_and_gradients, backend="aot_eager")
    for step in (2, 3):
        loss = engine.loss_and_gradients(inputs, targets, step=step)
        expected = gradient(decoder)
        assert compiled(inputs, targets, step=step) == pytest.approx(loss, rel=1e-12)
        assert torch.linalg.norm(gradient(decoder) - expected) < 1e-12 * torch.linalg.norm(expected)
