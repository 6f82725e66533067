"""Head importance of headwise's own decoder: the rise of its loss without each head, on the test sequences.

The stream is computed once up to every block and once more from there for each ablation, so that a model of one block
costs hardly more than a pass: its heads share everything but the read-out. Always by the reference computation,
whatever path trains the model. Shape letters as in `headwise.model.decoder`.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from headwise.measure.ablations import (
    Ablation,
    ImportanceOf,
    SequenceLosses,
    ablations,
    importance_variables,
)
from headwise.measure.head_outputs import head_outputs, written
from headwise.model.decoder import Block, Decoder
from headwise.model.engine import chunks
from headwise.model.input_rows import InputRows

ROWS_AT_A_TIME = 256


@torch.no_grad()
def decoder_importance(decoder: Decoder, test: InputRows, *, of: ImportanceOf) -> dict[str, np.ndarray]:
    """Variables of one record. Means are over the counted positions of all test sequences, as the loss is."""
    parts = list(chunks(len(test.inputs), ROWS_AT_A_TIME))
    mean_LHE = _mean_outputs(decoder, test, parts)
    whole: list[Tensor] = []
    without: dict[Ablation, list[Tensor]] = {}
    wanted = list(ablations([decoder.config.heads] * len(decoder.layers), of))
    for part in parts:
        targets = test.targets[part]
        for index, passed in enumerate(_passed(decoder, test.inputs[part], test.counted)):
            for ablation in (one for one in wanted if one.block == index):
                logits = passed.without(ablation, mean_LHE[index])
                without.setdefault(ablation, []).append(_losses(logits, targets))
            if index == len(decoder.layers) - 1:
                whole.append(_losses(decoder.read_out(passed.after), targets))
    counts = np.full(len(test.inputs), float(test.counted))
    return importance_variables(
        SequenceLosses(_joined(whole), counts),
        {ablation: _joined(losses) for ablation, losses in without.items()},
        heads=[decoder.config.heads] * len(decoder.layers),
        of=of,
    )


class _Passed:
    """One block in a pass: the stream before it, what its heads put out, and the stream after it."""

    def __init__(self, decoder: Decoder, index: int, x_BSD: Tensor, counted: int) -> None:
        self.decoder, self.index, self.counted = decoder, index, counted
        self.block: Block = decoder.layers[index]
        queries = counted if index == len(decoder.layers) - 1 else decoder.positions
        seen_BSD = self.block.norm_attention(x_BSD) if self.block.config.norm == "pre" else x_BSD
        self.y_BQO, a_BHQS = self.block.attention(seen_BSD, queries, None)
        self.z_BQHE = head_outputs(self.block.attention, seen_BSD, a_BHQS)
        self.x_BQO = x_BSD[:, -queries:, : self.block.writes]
        self.after = self.block.after_attention(self.x_BQO, self.y_BQO, None)

    def without(self, ablation: Ablation, mean_HE: Tensor) -> Tensor:
        """Logits with these heads taken out of this block."""
        change = torch.zeros_like(self.z_BQHE)
        for head in ablation.heads:
            instead = mean_HE[head] if ablation.by == "mean" else torch.zeros_like(mean_HE[head])
            change[:, :, head] = instead - self.z_BQHE[:, :, head]
        y_BQO = self.y_BQO + written(self.block.attention, change)
        x = self.block.after_attention(self.x_BQO, y_BQO, None)
        layers = self.decoder.layers
        for index in range(self.index + 1, len(layers)):
            x, _ = layers[index](x, self.counted if index == len(layers) - 1 else self.decoder.positions, None)
        return self.decoder.read_out(x)


def _passed(decoder: Decoder, inputs_BS: Tensor, counted: int) -> list[_Passed]:
    x = decoder.token_table()[inputs_BS] + decoder.position_table()
    found = []
    for index in range(len(decoder.layers)):
        found.append(_Passed(decoder, index, x, counted))
        x = found[-1].after
    return found


def _mean_outputs(decoder: Decoder, test: InputRows, parts: list[slice]) -> list[Tensor]:
    """Mean output of each head over the counted positions, one (H, E) for each block; summed in double precision."""
    sums: list[Tensor] = []
    for part in parts:
        added = [
            passed.z_BQHE[:, -test.counted :].sum((0, 1), dtype=torch.float64)
            for passed in _passed(decoder, test.inputs[part], test.counted)
        ]
        sums = added if not sums else [a + b for a, b in zip(sums, added, strict=True)]
    return [(total / (len(test.inputs) * test.counted)).to(decoder.dtype) for total in sums]


def _losses(logits_BQN: Tensor, targets_BQ: Tensor) -> Tensor:
    """Sum of the cross-entropy over the counted positions of each sequence."""
    rows = functional.cross_entropy(logits_BQN.transpose(1, 2), targets_BQ, reduction="none")
    return rows.sum(1, dtype=torch.float64)


def _joined(parts: list[Tensor]) -> np.ndarray:
    return np.asarray(torch.cat(parts).cpu().numpy())
