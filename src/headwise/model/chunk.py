"""One chunk of sequences through the kernel, forward and backward, in buffers that are allocated once.

The order of work is that of the decoder: attention, its branch (dropout, residual, norm), the MLP, its branch, logits,
loss; then the same backwards. Activations are overwritten by their gradients as soon as they are no longer needed,
which keeps a chunk inside the second-level cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import CDLL, byref

import numpy as np
import torch
from torch import Tensor

from headwise.model import kernel
from headwise.model.decoder import Decoder
from headwise.model.dropout import Site, kept_scale, threshold
from headwise.model.folded import Folded, padded

Keys = Mapping[Site, np.ndarray]
"""Keys of the dropout streams, one per sequence, for every site with dropout."""


class Sums:
    """Gradients of the folded weights: the current chunk's in float32, all chunks' in double."""

    def __init__(self, folded: Folded) -> None:
        sizes = [weight.numel() for weight in folded]
        self.part = torch.zeros(sum(sizes), dtype=torch.float32)
        self.total = torch.zeros(sum(sizes), dtype=torch.float64)
        self.views = Folded(*(p.view(w.shape) for p, w in zip(torch.split(self.part, sizes), folded, strict=True)))

    def drain(self, library: CDLL) -> None:
        library.headwise_drain(self.part.data_ptr(), self.total.data_ptr(), self.part.numel())


class Chunk:
    """Buffers and prepared calls for chunks of up to `sequences` sequences; `dropout` off for evaluation."""

    def __init__(
        self, library: CDLL, decoder: Decoder, folded: Folded, *, sequences: int, queries: int, sums: Sums | None
    ) -> None:
        self.library, self.decoder, self.folded, self.sums = library, decoder, folded, sums
        config, block = decoder.config, decoder.layers[0]
        self.queries, self.mlp = queries, config.mlp > 0
        rows, wide = sequences * queries, padded(block.writes)
        positions = decoder.positions
        keys_pitch, queries_pitch = -(-positions // 8) * 8, -(-queries // 8) * 8
        self.weights = torch.zeros(sequences, config.heads, keys_pitch, queries_pitch)
        self.first = torch.zeros(rows, wide)
        self.second = torch.zeros(rows, wide) if self.mlp else None
        self.hidden = torch.zeros(rows, padded(config.mlp)) if self.mlp else None
        self.hidden_grad = torch.zeros_like(self.hidden) if self.hidden is not None else None
        self.logits = torch.zeros(rows, folded.read.shape[0]) if folded.read.numel() else None
        self.grad = torch.zeros(rows, wide) if self.logits is not None else None
        deviations = [torch.zeros(rows) if config.norm == "post" else None for _ in range(2)]

        drops = config.dropout
        off = sums is None
        self.shape = kernel.Shape(
            positions=positions,
            queries=queries,
            heads=config.heads,
            dictionary=decoder.dictionary,
            rows=decoder.dictionary + positions,
            writes=block.writes,
            context=min(config.context or positions, positions),
            rows_pitch=folded.score.shape[2],
            writes_pitch=wide,
            keys_pitch=keys_pitch,
            queries_pitch=queries_pitch,
            drop=_drop(0.0 if off else drops.attention),
        )
        self.attention = kernel.AttentionForward(
            score=folded.score.data_ptr(),
            value=folded.value.data_ptr(),
            weights=self.weights.data_ptr(),
            out=self.first.data_ptr(),
        )
        common = {
            "positions": positions,
            "queries": queries,
            "dictionary": decoder.dictionary,
            "width": block.writes,
            "pitch": wide,
            "epsilon": block.norm_attention.eps if config.norm == "post" else 0.0,
        }
        self.attention_branch = kernel.Branch(
            **common,
            drop=_drop(0.0 if off else drops.attention_branch),
            branch=self.first.data_ptr(),
            offset=kernel.address(folded.offset),
            stream=kernel.address(folded.stream),
            out=self.first.data_ptr(),
            inverse_deviation=kernel.address(deviations[0]),
        )
        self.plain_branch = (
            config.residual == "off"
            and config.norm == "none"
            and not folded.offset.numel()
            and (off or not threshold(drops.attention_branch))
        )
        if self.mlp:
            assert self.second is not None
            self.units = kernel.Hidden(
                queries=queries,
                width=config.mlp,
                pitch=padded(config.mlp),
                drop=_drop(0.0 if off else drops.mlp),
                hidden=kernel.address(self.hidden),
                grad=kernel.address(self.hidden_grad),
                bias_grad=None if sums is None else sums.views.hidden_bias.data_ptr(),
            )
            self.mlp_branch = kernel.Branch(
                **common,
                drop=_drop(0.0 if off else drops.mlp_branch),
                branch=self.second.data_ptr(),
                offset=folded.back_bias.data_ptr(),
                before=self.first.data_ptr() if config.residual == "on" else None,
                gain=kernel.address(folded.gain),
                shift=kernel.address(folded.shift),
                out=self.second.data_ptr(),
                inverse_deviation=kernel.address(deviations[1]),
            )
        self._alive = deviations

    def forward(self, tokens: Tensor, keys: Keys) -> Tensor:
        """The stream after the block, (sequences * queries, padded width); normalised but for gain and bias."""
        count = tokens.shape[0]
        library, rows = self.library, count * self.queries
        self.shape.sequences = count
        self.attention.tokens, self.attention.keys = tokens.data_ptr(), _address(keys, Site.ATTENTION)
        library.headwise_attention_forward(byref(self.shape), byref(self.attention))
        branch = self.attention_branch
        branch.sequences, branch.tokens = count, tokens.data_ptr()
        branch.keys = _address(keys, Site.ATTENTION_BRANCH)
        if not self.plain_branch:
            library.headwise_branch_forward(byref(branch))
        first = self.first[:rows]
        if self.hidden is None or self.second is None:
            return first
        hidden, second = self.hidden[:rows], self.second[:rows]
        torch.addmm(self.folded.hidden_bias, first, self.folded.hidden.T, out=hidden)
        self.units.sequences, self.units.keys = count, _address(keys, Site.MLP)
        library.headwise_relu_forward(byref(self.units))
        torch.mm(hidden, self.folded.back.T, out=second)
        branch = self.mlp_branch
        branch.sequences, branch.keys = count, _address(keys, Site.MLP_BRANCH)
        library.headwise_branch_forward(byref(branch))
        return second

    def read(self, stream: Tensor, out: Tensor) -> None:
        """Logits from the stream."""
        if self.folded.read_bias.numel():
            torch.addmm(self.folded.read_bias, stream, self.folded.read.T, out=out)
        else:
            torch.mm(stream, self.folded.read.T, out=out)

    def loss_and_gradients(self, tokens: Tensor, targets: Tensor, keys: Keys, weight: float) -> float:
        """Summed loss of a chunk; adds `weight` times its gradient to the sums."""
        assert self.sums is not None
        views, folded, library = self.sums.views, self.folded, self.library
        stream = self.forward(tokens, keys)
        count = stream.shape[0]
        logits = grad = stream
        if self.logits is not None and self.grad is not None:
            logits, grad = self.logits[:count], self.grad[:count]
            self.read(stream, logits)
        loss: float = library.headwise_cross_entropy(
            byref(
                kernel.CrossEntropy(
                    count=count,
                    classes=self.decoder.dictionary,
                    pitch=logits.shape[1],
                    weight=weight,
                    logits=logits.data_ptr(),
                    targets=targets.data_ptr(),
                    bias_grad=kernel.address(views.read_bias),
                )
            )
        )
        if self.logits is not None:
            torch.mm(logits.T, stream, out=views.read)
            torch.mm(logits, folded.read, out=grad)
        later = None
        if self.hidden is not None and self.second is not None and self.hidden_grad is not None:
            # The stream is no longer needed: the branch's gradient takes its place, unless the loss already did.
            inner = self.second[:count]
            backwards = kernel.BranchGradients(
                forward=self.mlp_branch,
                grad=grad.data_ptr(),
                branch_grad=inner.data_ptr(),
                offset_grad=views.back_bias.data_ptr(),
            )
            if self.grad is None and self.decoder.config.residual == "on":
                grad = grad.clone()
                backwards.grad = grad.data_ptr()
            library.headwise_branch_backward(byref(backwards))
            hidden, hidden_grad = self.hidden[:count], self.hidden_grad[:count]
            torch.mm(inner.T, hidden, out=views.back)
            torch.mm(inner, folded.back, out=hidden_grad)
            library.headwise_relu_backward(byref(self.units))
            torch.mm(hidden_grad.T, self.first[:count], out=views.hidden)
            torch.mm(hidden_grad, folded.hidden, out=inner)
            later = grad if self.decoder.config.residual == "on" else None
            grad = inner
        if not self.plain_branch or later is not None:
            backwards = kernel.BranchGradients(
                forward=self.attention_branch,
                grad=grad.data_ptr(),
                later=kernel.address(later),
                later_gain=kernel.address(folded.gain),
                gain_grad=kernel.address(views.gain),
                shift_grad=kernel.address(views.shift),
                branch_grad=grad.data_ptr(),
                offset_grad=kernel.address(views.offset),
                stream_grad=kernel.address(views.stream),
            )
            library.headwise_branch_backward(byref(backwards))
        attention = kernel.AttentionBackward(
            tokens=tokens.data_ptr(),
            value=folded.value.data_ptr(),
            weights=self.weights.data_ptr(),
            grads=grad.data_ptr(),
            score_grad=views.score.data_ptr(),
            value_grad=views.value.data_ptr(),
        )
        library.headwise_attention_backward(byref(self.shape), byref(attention))
        self.sums.drain(library)
        return loss


def _drop(rate: float) -> kernel.Drop:
    return kernel.Drop(threshold=threshold(rate), scale=kept_scale(rate))


def _address(keys: Keys, site: Site) -> int | None:
    return int(keys[site].ctypes.data) if site in keys else None
