"""Matrices as the kernel takes them: turned, padded and scaled in one pass each way.

Padding, turning and scaling one after the other, with autograd's way back through each, take six passes over a weight;
a step of eight sequences spent a third of its time on them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from headwise.model.folded import COLUMNS, padded


def turned(weight_ED: Tensor, norm: nn.LayerNorm | None) -> Tensor:
    """(reads, columns filled up to whole vectors), the gain of the norm that it reads folded in."""
    columns = weight_ED.shape[0]
    return heads_in_columns(weight_ED[None], None if norm is None else norm.weight, columns, padded(columns))


def heads_in_columns(weight_HED: Tensor, gain_D: Tensor | None, step: int, size: int) -> Tensor:
    """(reads, `size`): the turned matrices of all heads, `step` columns for each, times the gain of what they read."""
    laid_DC: Tensor = _HeadsInColumns.apply(weight_HED, gain_D, step, size)  # type: ignore[no-untyped-call]
    return laid_DC


def heads_in_rows(hand_HEO: Tensor, step: int, size: int) -> Tensor:
    """(heads * `step`, `size`): the matrices of all heads, `step` rows for each, filled up with zeros."""
    laid_RC: Tensor = _HeadsInRows.apply(hand_HEO, step, size)  # type: ignore[no-untyped-call]
    return laid_RC


def in_blocks(x_RC: Tensor) -> Tensor:
    """Columns in blocks, (blocks, rows, COLUMNS), the last filled up with zeros: `folded.blocks` without a gradient."""
    count, columns = x_RC.shape
    whole, rest = divmod(columns, COLUMNS)
    found = x_RC.new_zeros(whole + (rest > 0), count, COLUMNS)
    found[:whole] = x_RC[:, : whole * COLUMNS].view(count, whole, COLUMNS).transpose(0, 1)
    if rest:
        found[whole, :, :rest] = x_RC[:, whole * COLUMNS :]
    return found


class _HeadsInColumns(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight_HED: Tensor, gain_D: Tensor | None, step: int, size: int) -> Tensor:
        # Turned first: whatever mixes two orders of the same elements takes several times as long.
        turned_DHE = weight_HED.permute(2, 0, 1).contiguous()
        ctx.save_for_backward(*(() if gain_D is None else (turned_DHE, gain_D)))
        ctx.shape, ctx.step = turned_DHE.shape, step
        laid_DC = weight_HED.new_zeros(len(turned_DHE), size)
        place_DHE = _place(laid_DC, turned_DHE.shape, step)
        if gain_D is None:
            place_DHE.copy_(turned_DHE)
        else:
            torch.mul(turned_DHE, gain_D[:, None, None], out=place_DHE)
        return laid_DC

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        grad_DHE = _place(grads[0], ctx.shape, ctx.step)
        if not ctx.saved_tensors:
            return grad_DHE.permute(1, 2, 0), None, None, None
        turned_DHE, gain_D = ctx.saved_tensors
        grad_weight_HED = (grad_DHE * gain_D[:, None, None]).permute(1, 2, 0).contiguous()
        return grad_weight_HED, (grad_DHE * turned_DHE).sum((1, 2)), None, None


def _place(laid_DC: Tensor, shape: torch.Size, step: int) -> Tensor:
    """Where the matrices of all heads lie in it, (reads, heads, columns)."""
    reads, heads, used = shape
    return laid_DC[:, : heads * step].view(reads, heads, step)[:, :, :used]


class _HeadsInRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hand_HEO: Tensor, step: int, size: int) -> Tensor:
        heads, used, columns = ctx.shape = hand_HEO.shape
        placed = hand_HEO.new_zeros(heads, step, size)
        placed[:, :used, :columns] = hand_HEO
        return placed.flatten(0, 1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        heads, used, columns = ctx.shape
        rows, size = grads[0].shape
        return grads[0].view(heads, rows // heads, size)[:, :used, :columns], None, None
