"""TransformerLens: attention by its hook points `blocks.<i>.attn.hook_pattern`, what heads write by `hook_z`.

Both generations have them: `HookedTransformer` (up to version 3) and `TransformerBridge` (the only one in version 4).
The library itself is never imported here: a model of it brings it along.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from torch import Tensor

from headwise.probe.adapter import Batch, HeadWrites, Layer, Observer, rewrite_of

PATTERN = re.compile(r"blocks\.(\d+)\.attn\.hook_pattern")


class TransformerLens:
    """Temporary hooks through the library's own `run_with_hooks`."""

    name = "transformer_lens"

    def claims(self, model: object) -> bool:
        ours = any(kind.__module__.split(".")[0] == "transformer_lens" for kind in type(model).__mro__)
        return ours and hasattr(model, "run_with_hooks") and hasattr(model, "hook_dict")

    def show(self, model: Any, batch: Batch, observer: Observer) -> None:
        mixed: dict[int, Tensor] = {}
        patterns: dict[int, Tensor] = {}

        def keep_pattern(pattern: Tensor, hook: Any) -> None:
            patterns[_block(hook.name)] = pattern

        rewrite = rewrite_of(observer)

        def keep_mixed(z: Tensor, hook: Any) -> Tensor | None:
            block = _block(hook.name)
            mixed[block] = z
            instead = None if rewrite is None else rewrite(z)
            self._hand_over(model, batch, observer, block, patterns, mixed)
            return instead

        names = [name for name in model.hook_dict if PATTERN.fullmatch(name)]
        hooks: list[tuple[str, Callable[[Tensor, Any], Tensor | None]]] = [(name, keep_pattern) for name in names]
        with_writes = [name.replace("hook_pattern", "hook_z") for name in names]
        known = all(name in model.hook_dict for name in with_writes)
        if known:
            hooks += [(name, keep_mixed) for name in with_writes]
        arguments = dict(batch.others)
        wanted = "logits" if observer.wants_output else None
        output = model.run_with_hooks(batch.tokens, return_type=wanted, fwd_hooks=hooks, **arguments)
        for block in sorted(patterns):
            self._hand_over(model, batch, observer, block, patterns, mixed)
        if observer.wants_output:
            observer.output({"logits": output})

    def _hand_over(
        self,
        model: Any,
        batch: Batch,
        observer: Observer,
        block: int,
        patterns: dict[int, Tensor],
        mixed: dict[int, Tensor],
    ) -> None:
        if block not in patterns:
            return
        pattern = patterns.pop(block)
        writes = _writes(model, block, mixed.pop(block, None), heads=pattern.shape[1])
        observer.layer(Layer(f"blocks.{block}.attn", pattern, batch.valid_BS, writes))

    def advice(self, model: Any) -> str:
        return f"{type(model).__name__} has no hook point blocks.<i>.attn.hook_pattern"


def _block(name: str) -> int:
    return int(name.split(".")[1])


def _writes(model: Any, block: int, z: Tensor | None, *, heads: int) -> HeadWrites | None:
    """`hook_z` comes as (B, S, H, E) or flat; the output matrix as (H, E, D)."""
    output = getattr(getattr(model.blocks[block], "attn", None), "W_O", None)
    if z is None or not isinstance(output, Tensor) or output.ndim != 3 or output.shape[0] != heads:
        return None
    z_BSHE = z if z.ndim == 4 else z.reshape(*z.shape[:-1], heads, -1)
    return HeadWrites(z_BSHE, output.permute(2, 0, 1))


ADAPTER = TransformerLens()
