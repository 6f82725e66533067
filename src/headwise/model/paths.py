"""Which path computes a model: the kernel, pure torch or the reference, and why that one.

All compute the same function; they differ in speed and in the last bits. A model that the fast paths do not handle
(`handled`) is computed on the reference, even if a fast path was asked for; `Choice.why` gives the reason, which the
caller shows once.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from headwise.core.errors import ConfigError
from headwise.model import kernel
from headwise.model.compute import ComputeConfig
from headwise.model.config import ModelConfig
from headwise.model.decoder import Decoder
from headwise.model.engine import Engine
from headwise.model.handled import not_handled
from headwise.model.kernel_engine import KernelEngine
from headwise.model.reference import ReferenceEngine
from headwise.model.tabulated import TabulatedEngine


class Choice(NamedTuple):
    """A path and the reason for it, one line."""

    path: Literal["kernel", "torch", "reference"]
    why: str


def choose(model: ModelConfig, compute: ComputeConfig) -> Choice:
    """The path that `make_engine` takes for this model."""
    if compute.path == "reference":
        return Choice("reference", "asked for")
    problem = not_handled(model)
    if problem is not None:
        return Choice("reference", problem)
    if compute.path == "torch":
        return Choice("torch", "asked for")
    problem = _outside_kernel(compute)
    if problem is None:
        return Choice("kernel", f"built for this processor ({kernel.level()})")
    if compute.path == "kernel":
        raise ConfigError(f"compute.path = kernel is not possible: {problem}; pass --compute.path auto")
    return Choice("torch", problem)


def _outside_kernel(compute: ComputeConfig) -> str | None:
    if not compute.device.startswith("cpu"):
        return f"the kernel runs on the cpu, compute.device = {compute.device}"
    if compute.dtype != "float32":
        return f"the kernel computes in float32, compute.dtype = {compute.dtype}"
    return kernel.missing()


def make_engine(decoder: Decoder, compute: ComputeConfig, *, dropout_seed: int) -> Engine:
    """An engine for a decoder that is already on its device and in its precision."""
    path = choose(decoder.config, compute).path
    if path == "kernel":
        return KernelEngine(decoder, dropout_seed=dropout_seed, chunk=compute.chunk, threads=compute.threads)
    if path == "torch":
        return TabulatedEngine(decoder, dropout_seed=dropout_seed, chunk=compute.chunk)
    return ReferenceEngine(decoder, dropout_seed=dropout_seed, chunk=compute.chunk)
