"""Matrices laid out for the kernel, and the way back, against the same in torch's own operations."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from headwise.model.folded import COLUMNS, blocks, padded
from headwise.model.layout import heads_in_columns, heads_in_rows, in_blocks, turned


@pytest.mark.parametrize("gained", [True, False])
@pytest.mark.parametrize(
    ("heads", "used", "reads", "step", "size"), [(3, 5, 7, 8, 32), (1, 4, 3, 4, 16), (2, 8, 5, 8, 16)]
)
def test_heads_in_columns(gained: bool, heads: int, used: int, reads: int, step: int, size: int) -> None:
    weight = torch.randn(heads, used, reads, dtype=torch.float64, requires_grad=True)
    gain = torch.randn(reads, dtype=torch.float64, requires_grad=True) if gained else None

    def plain(weight: torch.Tensor, gain: torch.Tensor | None) -> torch.Tensor:
        scaled = weight if gain is None else weight * gain
        flat = functional.pad(scaled, (0, 0, 0, step - used)).permute(2, 0, 1).flatten(1)
        return functional.pad(flat, (0, size - heads * step))

    laid = heads_in_columns(weight, gain, step, size)
    assert torch.equal(laid, plain(weight, gain))
    assert laid.is_contiguous()
    wanted = [weight] if gain is None else [weight, gain]
    upstream = torch.randn_like(laid)
    mine = torch.autograd.grad(laid, wanted, upstream)
    for found, expected in zip(mine, torch.autograd.grad(plain(weight, gain), wanted, upstream), strict=True):
        assert torch.allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_heads_in_rows() -> None:
    output = torch.randn(6, 3, 5, dtype=torch.float64, requires_grad=True)
    hand = output.permute(1, 2, 0)
    laid = heads_in_rows(hand, 8, 16)
    plain = functional.pad(functional.pad(hand, (0, 0, 0, 3)).flatten(0, 1), (0, 10))
    assert torch.equal(laid, plain)
    assert laid.is_contiguous()
    upstream = torch.randn_like(laid)
    mine, expected = (torch.autograd.grad(one, output, upstream, retain_graph=True)[0] for one in (laid, plain))
    assert torch.equal(mine, expected)


def test_a_matrix_turned_with_its_norm() -> None:
    weight, norm = torch.randn(5, 7), nn.LayerNorm(7)
    nn.init.normal_(norm.weight)
    expected = functional.pad((weight * norm.weight).T, (0, padded(5) - 5))
    assert torch.equal(turned(weight, norm), expected)
    assert torch.equal(turned(weight, None), functional.pad(weight.T, (0, padded(5) - 5)))


@pytest.mark.parametrize("columns", [1, COLUMNS - 1, COLUMNS, COLUMNS + 1, 3 * COLUMNS])
def test_columns_in_blocks(columns: int) -> None:
    x = torch.randn(6, columns)
    assert torch.equal(in_blocks(x), blocks(x))
    assert torch.equal(in_blocks(x.T), blocks(x.T)), "turned matrices are cut the same way"
