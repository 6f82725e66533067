"""What the benchmark times, in the paper's sizes: a training step of the minimal model, of the full one without and
with dropout on embeddings, of two blocks of either, of the full one with norms before its branches; and an evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from headwise.bench.plain import Plain, PlainMinimal, plain_evaluation, plain_model, plain_step
from headwise.model.compute import ComputeConfig
from headwise.model.config import FULL_PUBLISHED, FULL_TEXT, MINIMAL_PUBLISHED, ModelConfig
from headwise.model.decoder import Decoder
from headwise.model.engine import Engine
from headwise.model.initialise import initialise
from headwise.model.kernel_engine import KernelEngine
from headwise.model.paths import choose
from headwise.model.reference import ReferenceEngine
from headwise.model.tabulated import TabulatedEngine

Name = Literal[
    "minimal",
    "full",
    "full_embedding_dropout",
    "evaluation",
    "two_blocks",
    "two_minimal_blocks",
    "pre_norm",
    "pre_norm_embedding_dropout",
]
NAMES: tuple[Name, ...] = get_args(Name)
DROPPED_EMBEDDINGS: tuple[Name, ...] = ("full_embedding_dropout", "two_blocks", "pre_norm_embedding_dropout")
Contender = Literal["plain", "plain_chunked", "plain_pairwise", "reference", "torch", "kernel"]
CHUNK = 50
SEED = 1


class Sizes(NamedTuple):
    """One setting of a case."""

    model: ModelConfig
    d: int = 50
    w: int = 12
    T: int = 20
    batch: int = 3000

    @property
    def positions(self) -> int:
        return self.w + self.T - 1


def paper_sizes(case: Name, *, batch: int = 3000) -> Sizes:
    """The paper's setting. The minimal model starts at larger weights than the paper's 1e-9, so that every part of its
    gradient is a number that can be compared."""
    if case in ("minimal", "two_minimal_blocks"):
        model = MINIMAL_PUBLISHED.changed({"init": "xavier", "init_scale": 1.0, "init_values": "xavier"})
        if case == "two_minimal_blocks":
            return Sizes(model.changed({"blocks": 2}), batch=batch)
        return Sizes(model, w=6, batch=batch)
    model = FULL_PUBLISHED if case in DROPPED_EMBEDDINGS else FULL_TEXT
    if case == "two_blocks":
        model = model.changed({"blocks": 2})
    if case in ("pre_norm", "pre_norm_embedding_dropout"):
        model = model.changed({"norm": "pre"})
    return Sizes(model, batch=batch)


def prepared(sizes: Sizes) -> tuple[Decoder, Tensor, Tensor]:
    """A decoder with initial weights, and random tokens: the time does not depend on which."""
    decoder = Decoder(sizes.model, dictionary=sizes.d, positions=sizes.positions)
    initialise(decoder, SEED)
    rng = torch.Generator().manual_seed(SEED)
    tokens = torch.randint(sizes.d, (sizes.batch, sizes.positions + 1), generator=rng)
    return decoder, tokens[:, :-1].contiguous(), tokens[:, -sizes.T :].contiguous()


def engine(path: Contender, decoder: Decoder) -> Engine:
    """A headwise path by its name."""
    if path == "reference":
        return ReferenceEngine(decoder, dropout_seed=SEED, chunk=CHUNK)
    if path == "torch":
        return TabulatedEngine(decoder, dropout_seed=SEED, chunk=CHUNK)
    return KernelEngine(decoder, dropout_seed=SEED, chunk=CHUNK)


def can_use_kernel(model: ModelConfig) -> bool:
    """Whether the kernel is here and computes this model."""
    return choose(model, ComputeConfig()).path == "kernel"


def contenders(case: Name, sizes: Sizes) -> dict[Contender, Callable[[], object]]:
    """Everything that can compute a case here, on the same data and weights."""
    decoder, inputs, targets = prepared(sizes)
    plain = plain_model(decoder)

    def run_plain(chunk: int | None, model: Plain = plain) -> Callable[[], object]:
        if case == "evaluation":
            return lambda: plain_evaluation(model, inputs, counted=sizes.T, chunk=chunk)
        return lambda: plain_step(model, inputs, targets, chunk=chunk)

    def run_path(path: Contender) -> Callable[[], object]:
        runner = engine(path, decoder)
        if case == "evaluation":
            return lambda: runner.evaluate(inputs, counted=sizes.T, visit=lambda rows, logits: None)
        return lambda: runner.loss_and_gradients(inputs, targets, step=0)

    found: dict[Contender, Callable[[], object]] = {"plain": run_plain(None), "plain_chunked": run_plain(CHUNK)}
    if sizes.model.embedding == "one_hot":
        found["plain_pairwise"] = run_plain(None, PlainMinimal(decoder, "pairwise"))
    paths: tuple[Contender, ...] = (
        ("reference", "torch", "kernel") if can_use_kernel(sizes.model) else ("reference", "torch")
    )
    return found | {path: run_path(path) for path in paths}
