"""The minimal model, of one block or several, trained in plain torch, head by head, with interventions by hand.

Every head has tensors of its own and AdamW and SGD are written as their formulas, so nothing here is shared with the
actions under test but the numbers of the checkpoint that both begin from.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

Leaf = tuple[str, int]
"""A matrix of a head: ("score_HDD" or "value_HED", head from 0), heads of later blocks counted on."""


class DirectLoop:
    """Weights and moments by head; the hooks of an intervention are attributes that a test sets."""

    def __init__(
        self,
        arrays: dict[str, np.ndarray],
        *,
        heads: int,
        step: int,
        d: int,
        inverse_scale: float,
        optimiser: Literal["AdamW", "SGD"] = "AdamW",
        blocks: int = 1,
    ) -> None:
        self.heads, self.step, self.d, self.inverse_scale = heads, step, d, inverse_scale
        self.blocks = blocks
        self.optimiser = optimiser
        moments = ("exp_avg", "exp_avg_sq") if optimiser == "AdamW" else ("momentum_buffer", "momentum_buffer")
        self.weights: dict[Leaf, Tensor] = {}
        self.first: dict[Leaf, Tensor] = {}
        self.second: dict[Leaf, Tensor] = {}
        for name in ("score_HDD", "value_HED"):
            for block, head in itertools.product(range(blocks), range(heads)):
                key, leaf = f"blocks.{block}.attention.{name}", (name, heads * block + head)
                self.weights[leaf] = torch.tensor(arrays[f"model.{key}"][head], dtype=torch.float64)
                for kept, name_of in zip((self.first, self.second), moments, strict=True):
                    kept[leaf] = torch.tensor(arrays[f"optimiser.{key}.{name_of}"][head], dtype=torch.float64)
        self.attention: Callable[[int, Tensor], Tensor] = lambda head, a: a
        self.scores: Callable[[int, Tensor], Tensor] = lambda head, s: s
        self.written: Callable[[int, Tensor], Tensor] = lambda head, z: z
        self.gradient: Callable[[dict[Leaf, Tensor]], dict[Leaf, Tensor]] = lambda found: found
        self.frozen: set[Leaf] = set()

    def heads_of(self, tokens: Tensor, counted: int) -> tuple[list[Tensor], list[Tensor]]:
        """Attention and output of every head on whole sequences, before interventions on its own output.

        The last block has the counted queries alone. Each block reads what the heads of the one before it wrote.
        """
        positions = tokens.shape[1]
        x = torch.cat(
            [
                functional.one_hot(tokens, self.d).double(),
                torch.eye(positions, dtype=torch.float64).expand(len(tokens), -1, -1),
            ],
            dim=-1,
        )
        seen, written = [], []
        for block in range(self.blocks):
            queries = counted if block == self.blocks - 1 else positions
            ahead = torch.ones(positions, positions, dtype=torch.bool).triu(1)[-queries:]
            for head in range(self.heads * block, self.heads * (block + 1)):
                s = torch.einsum("bqi,ji,bkj->bqk", x[:, -queries:], self.weights["score_HDD", head], x)
                s = self.scores(head, s * self.inverse_scale).masked_fill(ahead, -math.inf)
                a = self.attention(head, s.softmax(-1))
                seen.append(a)
                written.append(torch.einsum("bqk,bkj,oj->bqo", a, x, self.weights["value_HED", head]))
            x = self.together(written)
        return seen, written

    def together(self, written: list[Tensor]) -> Tensor:
        """What the heads of the last of these blocks write after interventions: the next stream, or the logits."""
        last = range(len(written) - self.heads, len(written))
        return torch.stack([self.written(head, written[head]) for head in last]).sum(0)

    def train(
        self, rows: Callable[[int], tuple[Tensor, Tensor]], steps: int, *, lr: float, decay: float, clip: float
    ) -> None:
        """AdamW with torch's constants or SGD with momentum 0.9, after clipping by the norm of all gradients."""
        for _ in range(steps):
            inputs, targets = rows(self.step)
            for tensor in self.weights.values():
                tensor.requires_grad_()
            _, written = self.heads_of(inputs, targets.shape[1])
            logits = self.together(written)
            loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
            found = torch.autograd.grad(loss, list(self.weights.values()), allow_unused=True)
            gradients = {
                leaf: torch.zeros_like(self.weights[leaf]) if g is None else g
                for leaf, g in zip(self.weights, found, strict=True)
            }
            gradients = self.gradient(gradients)
            norm = math.sqrt(sum(float((g**2).sum()) for leaf, g in gradients.items() if leaf not in self.frozen))
            factor = min(1.0, clip / (norm + 1e-6))
            self.step += 1
            for leaf, g in gradients.items():
                self.weights[leaf] = self.weights[leaf].detach()
                if leaf in self.frozen:
                    continue
                g = factor * g
                if self.optimiser == "SGD":
                    self.first[leaf] = 0.9 * self.first[leaf] + g + decay * self.weights[leaf]
                    self.weights[leaf] = self.weights[leaf] - lr * self.first[leaf]
                    continue
                self.first[leaf] = 0.9 * self.first[leaf] + 0.1 * g
                self.second[leaf] = 0.999 * self.second[leaf] + 0.001 * g**2
                mean = self.first[leaf] / (1 - 0.9**self.step)
                size = (self.second[leaf] / (1 - 0.999**self.step)).sqrt() + 1e-8
                self.weights[leaf] = self.weights[leaf] * (1 - lr * decay) - lr * mean / size
