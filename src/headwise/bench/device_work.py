"""What a step of the torch path asks of a device: operations of its products, bytes that its calls read and write, and
the number of calls. Counted on torch's `meta` device, which computes shapes and no numbers, so no card is needed.

Bytes are those of calls as torch makes them, each input read and each output written once; a compiler that joins
elementwise calls moves fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from headwise.bench.cases import SEED, Name, paper_sizes, prepared
from headwise.model.tabulated import TabulatedEngine


class DeviceWork(NamedTuple):
    """One step."""

    operations: int
    """multiplications and additions in matrix products"""
    bytes: int
    calls: int
    """calls that move data; views are free"""
    largest: int
    """bytes of the largest tensor"""


class _Calls(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = self.calls = self.largest = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        read = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        written = [x for x in tree_leaves(out) if isinstance(x, Tensor)]
        if func._schema.is_mutable or not {_memory(x) for x in written} <= {_memory(x) for x in read}:
            self.calls += 1
            self.bytes += sum(_size(x) for x in (*read, *written))
            self.largest = max([self.largest, *(_size(x) for x in written)])
        return out


def _memory(x: Tensor) -> int:
    return int(x.untyped_storage()._cdata)


def _size(x: Tensor) -> int:
    """Bytes behind a tensor, once each: an expanded one repeats what it has."""
    return min(x.numel() * x.element_size(), x.untyped_storage().nbytes())


def counted(run: Callable[[], object]) -> DeviceWork:
    """What a call on meta tensors would do."""
    products = FlopCounterMode(display=False)
    with products, _Calls() as calls:
        run()
    return DeviceWork(products.get_total_flops(), calls.bytes, calls.calls, calls.largest)


def step_work(case: Name, *, batch: int, chunk: int) -> DeviceWork:
    """A training step of a case on the torch path, `chunk` sequences at a time."""
    decoder, inputs, targets = prepared(paper_sizes(case, batch=batch))
    engine = TabulatedEngine(decoder.to("meta"), dropout_seed=SEED, chunk=chunk)
    inputs, targets = inputs.to("meta"), targets.to("meta")
    return counted(lambda: engine.summed_losses(inputs, targets, step=0))


def main() -> None:
    """Print the counts of docs/scale.md: the whole batch at once, and fifty sequences at a time."""
    cases: tuple[Name, ...] = ("minimal", "full", "full_embedding_dropout", "two_blocks")
    for case in cases:
        for chunk in (3000, 50):
            print(case, chunk, step_work(case, batch=3000, chunk=chunk))


if __name__ == "__main__":
    main()
