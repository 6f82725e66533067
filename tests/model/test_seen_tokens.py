"""A batch with few of many tokens: tables of these alone compute the decoder's own loss, gradients and attention."""

from __future__ import annotations

import pytest
import torch
from path_grid import GRID, gradient, random_decoder

from headwise.model import kernel
from headwise.model.dropout import DropoutMasks
from headwise.model.kernel_engine import KernelEngine
from headwise.model.plan import possible
from headwise.model.seen_tokens import SMALL, seen_tokens

needs_kernel = pytest.mark.skipif(kernel.missing() is not None, reason=str(kernel.missing()))
MODELS = ("minimal", "minimal, relative", "minimal, biases", "minimal, mlp and residual", "text", "published",
          "two minimal, residual", "pre", "two published, biases")  # fmt: skip
CASES = [(name, source) for name in MODELS for source in possible(GRID[name], training=True)]
FEW = torch.tensor([3, 17, 18, 250, 299])


def batch_of(tokens: torch.Tensor, rows: int, columns: int, *, seed: int) -> torch.Tensor:
    return tokens[torch.randint(len(tokens), (rows, columns), generator=torch.Generator().manual_seed(seed))]


def test_only_few_of_many_are_worth_it() -> None:
    inputs = batch_of(FEW, 6, 9, seed=0)
    found = seen_tokens(inputs, 300)
    assert found is not None
    assert found.tokens.tolist() == FEW.tolist()
    assert torch.equal(found.tokens[found.inputs], inputs)
    assert seen_tokens(inputs % 7, SMALL) is None
    assert seen_tokens(torch.arange(300)[None], 300) is None


@needs_kernel
@pytest.mark.parametrize(("name", "source"), CASES, ids=[f"{name}: {source}" for name, source in CASES])
def test_the_decoders_own_numbers(name: str, source: str) -> None:
    decoder = random_decoder(GRID[name], dictionary=300).float().double()
    inputs = batch_of(FEW, 23, decoder.positions, seed=1)
    targets = batch_of(torch.arange(300), 23, 4, seed=2)
    logits, _ = decoder(inputs, 4, DropoutMasks(seed=3, step=2))
    exact = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    exact.backward()
    expected = gradient(decoder)
    with torch.no_grad():
        expected_logits, attention = decoder(inputs, 4)
    engine = KernelEngine(decoder.float(), dropout_seed=3, chunk=3, source=source)  # type: ignore[arg-type]
    loss = engine.loss_and_gradients(inputs, targets, step=2)
    assert loss == pytest.approx(exact.item(), rel=2e-6)
    assert torch.linalg.norm(gradient(decoder) - expected) < 2e-6 * torch.linalg.norm(expected)
    found: list[torch.Tensor] = []
    summary = engine.evaluate(inputs, counted=4, visit=lambda rows, part: found.append(part.clone()))
    error = torch.cat(found).double() - expected_logits
    # Against the largest logit: a small one is a difference of large ones, and has their rounding.
    assert error.abs().max() < 5e-6 * expected_logits.abs().max()
    assert torch.linalg.norm(error) < 1e-6 * torch.linalg.norm(expected_logits)
    torch.testing.assert_close(summary.map[-1], attention[-1][:, :, -4:].mean(0), rtol=1e-5, atol=1e-6)
