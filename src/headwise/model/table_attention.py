"""Attention on tables for one chunk in pure torch, with its backward pass by hand.

By hand because the chain of small operations is short and known: the buffers of one chunk serve the next, which saves
autograd's bookkeeping and a page fault for every four kilobytes of fresh memory. Shape letters as in `tables`; a pair
of letters is one dimension, so `a_B_Q_HS` is (B, Q, H * S).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from headwise.model.decoder import Decoder
from headwise.model.dropout import DropoutMasks, Site, threshold
from headwise.model.tables import Tables


class Rows(NamedTuple):
    """Tables arranged for lookup: token rows, and position rows of the counted queries and of all keys."""

    query_N_HR: Tensor
    query_Q_HR: Tensor
    """Minus infinity at the positions that a query does not see."""
    value_HN_O: Tensor
    value_HS_O: Tensor


def arranged(decoder: Decoder, tables: Tables, queries: int) -> Rows:
    """Tables as rows, connected to them."""
    tokens, attention = decoder.dictionary, decoder.layers[0].attention
    lag_QS = attention.lag_SS[-queries:]
    hidden_QS = lag_QS < 1
    if decoder.config.context is not None:
        hidden_QS = hidden_QS | (lag_QS > decoder.config.context)
    hidden_QR = functional.pad(hidden_QS, (tokens, 0))
    query_RHR = tables.score_HRR.transpose(0, 1)
    return Rows(
        query_N_HR=query_RHR[:tokens].flatten(1),
        query_Q_HR=query_RHR[-queries:].masked_fill(hidden_QR[:, None], -math.inf).flatten(1),
        value_HN_O=tables.value_HRO[:, :tokens].flatten(0, 1),
        value_HS_O=tables.value_HRO[:, tokens:].flatten(0, 1),
    )


class TableAttention:
    """The buffers of one chunk, used again by the next."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self._buffers: dict[str, Tensor] = {}

    def buffer(self, name: str, *shape: int) -> Tensor:
        """Memory of a shape, fresh only when it must grow."""
        size, like = math.prod(shape), self.decoder
        found = self._buffers.get(name)
        if found is None or found.numel() < size or found.dtype != like.dtype or found.device != like.device:
            found = self._buffers[name] = torch.empty(size, dtype=like.dtype, device=like.device)
        return found[:size].view(shape)

    def apply(self, rows: Rows, tokens_BS: Tensor, queries: int, masks: DropoutMasks | None) -> tuple[Tensor, Tensor]:
        """What the heads write, (B, Q, O), and the weights behind it, (B, Q, H, S), which the next chunk overwrites."""
        y_BQO, a_BQHS = _Attend.apply(*rows, self, tokens_BS, queries, masks)  # type: ignore[no-untyped-call]
        return y_BQO, a_BQHS


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query_N_HR: Tensor,
        query_Q_HR: Tensor,
        value_HN_O: Tensor,
        value_HS_O: Tensor,
        own: TableAttention,
        tokens_BS: Tensor,
        queries: int,
        masks: DropoutMasks | None,
    ) -> tuple[Tensor, Tensor]:
        config, tokens = own.decoder.config, own.decoder.dictionary
        (B, S), H, O = tokens_BS.shape, config.heads, value_HN_O.shape[1]
        Q, R = queries, tokens + S
        left_BQ_HR = own.buffer("left", B * Q, H * R)
        torch.index_select(query_N_HR, 0, tokens_BS[:, -Q:].flatten(), out=left_BQ_HR)
        left_BQ_HR.view(B, Q, H * R).add_(query_Q_HR)
        left_BQHR = left_BQ_HR.view(B, Q, H, R)
        index_BQHS = tokens_BS[:, None, None].expand(B, Q, H, S)
        s_BQHS = own.buffer("score", B, Q, H, S)
        torch.gather(left_BQHR, 3, index_BQHS, out=s_BQHS)
        s_BQHS.add_(left_BQHR[..., tokens:])
        a_BQHS = torch.softmax(s_BQHS, -1, out=own.buffer("weight", B, Q, H, S))
        factors_BQHS, used_BQHS = None, a_BQHS
        if masks is not None and threshold(config.dropout.attention):
            rate = config.dropout.attention
            factors = masks.factors((B, H, Q, S), rate, block=0, site=Site.ATTENTION, like=a_BQHS)
            factors_BQHS = factors.transpose(1, 2)
            used_BQHS = torch.mul(a_BQHS, factors_BQHS, out=own.buffer("used", B, Q, H, S))
        head_H1 = torch.arange(H, device=tokens_BS.device)[:, None] * tokens
        index_BHS = (head_H1 + tokens_BS[:, None]).flatten()
        v_B_HS_O = own.buffer("value", B * H * S, O)
        torch.index_select(value_HN_O, 0, index_BHS, out=v_B_HS_O)
        v_B_HS_O = v_B_HS_O.view(B, H * S, O).add_(value_HS_O)
        y_BQO = torch.bmm(used_BQHS.view(B, Q, H * S), v_B_HS_O)
        ctx.own, ctx.sizes, ctx.factors = own, (B, S, Q, H, R, O, tokens), factors_BQHS
        ctx.kept = (a_BQHS, used_BQHS, v_B_HS_O, index_BQHS, index_BHS, tokens_BS)
        ctx.mark_non_differentiable(a_BQHS)
        return y_BQO, a_BQHS

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        own, (B, S, Q, H, R, O, tokens) = ctx.own, ctx.sizes
        a_BQHS, used_BQHS, v_B_HS_O, index_BQHS, index_BHS, tokens_BS = ctx.kept
        dy_BQO = grads[0].contiguous()
        da_B_Q_HS = torch.bmm(dy_BQO, v_B_HS_O.transpose(1, 2), out=own.buffer("score", B, Q, H * S))
        dv_B_HS_O = torch.bmm(used_BQHS.view(B, Q, H * S).transpose(1, 2), dy_BQO, out=own.buffer("value", B, H * S, O))
        dvalue_HN_O = summed_rows(dv_B_HS_O.view(-1, O), index_BHS, H * tokens)
        dvalue_HS_O = dv_B_HS_O.sum(0)
        ds_BQHS = da_B_Q_HS.view(B, Q, H, S)
        if ctx.factors is not None:
            ds_BQHS.mul_(ctx.factors)
        mean_BQH1 = torch.linalg.vecdot(a_BQHS, ds_BQHS).unsqueeze(-1)
        ds_BQHS.sub_(mean_BQH1).mul_(a_BQHS)
        dleft_BQHR = own.buffer("left", B, Q, H, R)
        dleft_BQHR[..., :tokens].zero_()
        dleft_BQHR[..., tokens:] = ds_BQHS
        dleft_BQHR.scatter_add_(3, index_BQHS, ds_BQHS)
        dleft_BQ_HR = dleft_BQHR.view(B * Q, H * R)
        dquery_N_HR = summed_rows(dleft_BQ_HR, tokens_BS[:, -Q:].flatten(), tokens)
        dquery_Q_HR = dleft_BQ_HR.view(B, Q, H * R).sum(0)
        return dquery_N_HR, dquery_Q_HR, dvalue_HN_O, dvalue_HS_O, None, None, None, None


def summed_rows(rows: Tensor, index: Tensor, count: int) -> Tensor:
    """Rows of equal index added up, in an order that does not change from run to run."""
    if rows.device.type == "cpu":
        return rows.new_zeros(count, rows.shape[1]).index_add_(0, index, rows)
    summed: Tensor = torch.ops.aten.embedding_dense_backward(rows, index, count, -1, False)
    return summed
