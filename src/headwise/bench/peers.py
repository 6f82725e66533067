"""The strongest alternatives: the plain models in their best chunk, under `torch.compile`, and in JAX where installed.

All compute what the plain models compute, with dropout from their own generators; none is part of the package.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Literal

import torch
from torch import Tensor

from headwise.bench.plain import Plain, PlainMinimal, plain_model, plain_step
from headwise.model.decoder import Decoder

Peer = Literal["compile", "jax"]
CHUNKS = (10, 25, 50, 100, 200)
COMPILED_CHUNK = 50


def compiled_peers(decoder: Decoder, inputs: Tensor, targets: Tensor) -> dict[Peer, Callable[[], object]]:
    """A step of each compiled alternative that can run here, warmed up: compiling is not part of a step."""
    found: dict[Peer, Callable[[], object]] = {}
    compiled = compiled_step(fastest_plain(decoder), inputs, targets)
    if compiled is not None:
        found["compile"] = compiled
    if find_spec("jax") is not None:
        from headwise.bench.jax_step import jax_step

        found["jax"] = jax_step(decoder, inputs, targets, chunk=COMPILED_CHUNK)
    return found


def fastest_plain(decoder: Decoder) -> Plain:
    """The plain model, the minimal one in its faster form."""
    return PlainMinimal(decoder, "pairwise") if decoder.config.embedding == "one_hot" else plain_model(decoder)


def best_chunk(plain: Plain, inputs: Tensor, targets: Tensor) -> int | None:
    """The chunk in which a few hundred sequences take least; `None` for the whole batch."""
    sample = slice(0, 400)
    seconds: dict[int | None, float] = {}
    plain_step(plain, inputs[sample], targets[sample], chunk=CHUNKS[0])
    for chunk in (*(size for size in CHUNKS if size < inputs.shape[0]), None):
        start = time.perf_counter()
        plain_step(plain, inputs[sample], targets[sample], chunk=chunk)
        seconds[chunk] = time.perf_counter() - start
    return min(seconds, key=lambda chunk: seconds[chunk])


def compiled_step(plain: Plain, inputs: Tensor, targets: Tensor) -> Callable[[], object] | None:
    """A step of the plain model under `torch.compile`; `None` where that does not work."""
    chunk = min(COMPILED_CHUNK, inputs.shape[0])
    whole = inputs.shape[0] - inputs.shape[0] % chunk

    def step() -> float:
        return plain_step(compiled, inputs[:whole], targets[:whole], chunk=chunk)  # type: ignore[arg-type]

    try:
        compiled = torch.compile(plain, dynamic=False)
        step()
    except Exception:  # whatever the compiler lacks here
        return None
    return step
