"""Which path computes a model: the kernel, pure torch or the reference, and why that one.

All compute the same function; they differ in speed and in the last bits. A model outside the fast paths falls back to
the reference, whatever was asked for; `Choice.why` says so, for the caller to show once.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from headwise.model.compute import ComputeConfig
from headwise.model.config import ModelConfig
from headwise.model.decoder import Decoder
from headwise.model.engine import Engine
from headwise.model.reference import ReferenceEngine
from headwise.model.tables import additive
from headwise.model.tabulated import TabulatedEngine


class Choice(NamedTuple):
    """A path and the reason for it, one line."""

    path: Literal["kernel", "torch", "reference"]
    why: str


def choose(model: ModelConfig, compute: ComputeConfig) -> Choice:
    """The path that `make_engine` takes for this model."""
    if compute.path == "reference":
        return Choice("reference", "asked for")
    if model.blocks > 1:
        return Choice("reference", f"the fast paths hold one block, model.blocks = {model.blocks}")
    if not additive(model):
        return Choice("reference", f"the fast paths need attention on the input itself, model.norm = {model.norm}")
    return Choice("torch", "tables in pure torch")


def make_engine(decoder: Decoder, compute: ComputeConfig, *, dropout_seed: int) -> Engine:
    """An engine for a decoder that is already on its device and in its precision."""
    path = choose(decoder.config, compute).path
    if path == "torch":
        return TabulatedEngine(decoder, dropout_seed=dropout_seed, chunk=compute.chunk)
    return ReferenceEngine(decoder, dropout_seed=dropout_seed, chunk=compute.chunk)
