"""A model's next-token logits, where its output holds them.

Only what is known to be logits counts: an output called so, or a bare (B, S, V) tensor whose V is the size of the
model's vocabulary. Hidden states have the same shape, and a loss taken from them would mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn


def logits_of(output: Any, tokens_BS: Tensor, model: object) -> Tensor | None:
    """Logits (B, S, V) for the tokens shown, or `None` where the output has none."""
    named = output.get("logits") if isinstance(output, Mapping) else getattr(output, "logits", None)
    if named is None and isinstance(output, tuple | list) and output:
        output = output[0]
    found = output if named is None else named
    if not isinstance(found, Tensor) or found.ndim != 3 or not found.is_floating_point():
        return None
    if found.shape[:2] != tokens_BS.shape or int(tokens_BS.max()) >= found.shape[-1]:
        return None
    return found if named is not None or _is_vocabulary(found.shape[-1], tokens_BS, model) else None


def _is_vocabulary(size: int, tokens_BS: Tensor, model: object) -> bool:
    parts = model.modules() if isinstance(model, nn.Module) else ()
    known = {part.num_embeddings for part in parts if isinstance(part, nn.Embedding)}
    return size in known or size == int(tokens_BS.max()) + 1
