"""How the time of a step grows with each size, beside how the operations grow."""

from __future__ import annotations

import math
import statistics

from headwise.bench.cases import Contender, Sizes, engine, paper_sizes, prepared
from headwise.bench.floor import operations
from headwise.bench.timing import Clock, interleaved

VALUES: dict[str, tuple[int, ...]] = {
    "batch": (750, 1500, 3000),
    "d": (25, 50, 100, 200),
    "T": (10, 20, 40),
    "heads": (1, 3, 5, 15),
    "width": (129, 255, 510),
}


def changed(sizes: Sizes, quantity: str, value: int) -> Sizes:
    """The full model with one size changed."""
    if quantity == "batch":
        return sizes._replace(batch=value)
    if quantity == "d":
        return sizes._replace(d=value)
    if quantity == "T":
        return sizes._replace(T=value)
    return sizes._replace(model=sizes.model.changed({quantity: value}))


def growth(path: Contender, *, batch: int, repeats: int, clock: Clock) -> dict[str, dict[str, object]]:
    """Seconds and operations at a few values of each size, and the exponents of both from the first to the last."""
    result: dict[str, dict[str, object]] = {}
    for quantity, values in VALUES.items():
        scaled = [max(1, v * batch // 3000) for v in values] if quantity == "batch" else list(values)
        settings = [changed(paper_sizes("full", batch=batch), quantity, value) for value in scaled]
        runs = {}
        for value, sizes in zip(scaled, settings, strict=True):
            decoder, inputs, targets = prepared(sizes)
            runner = engine(path, decoder)
            runs[str(value)] = lambda r=runner, x=inputs, y=targets: r.loss_and_gradients(x, y, step=0)
        seconds = interleaved(runs, repeats=repeats, clock=clock)
        medians = [statistics.median(s) for s in seconds.values()]
        counted = [operations("full", sizes) for sizes in settings]
        result[quantity] = {
            "values": scaled,
            "seconds": medians,
            "operations": counted,
            "exponent": _exponent(scaled, medians),
            "operations_exponent": _exponent(scaled, counted),
        }
    return result


def _exponent(values: list[int], heights: list[float]) -> float:
    return math.log(heights[-1] / heights[0]) / math.log(values[-1] / values[0])
