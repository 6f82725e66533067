"""What the benchmark is held to: limits that stood before it was run, and whether a result keeps them."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from headwise.bench.cases import Name

Over = Literal["plain", "plain_chunked", "reference"]


class Limit(NamedTuple):
    """How many times faster than `over` the kernel has to be in a case."""

    case: Name
    over: Over
    least: float


FASTER: tuple[Limit, ...] = (
    Limit("minimal", "plain", 28.5),
    Limit("full", "plain", 22.2),
    Limit("full_embedding_dropout", "plain", 10.5),
    Limit("evaluation", "plain", 19.7),
    Limit("two_blocks", "plain", 4.0),
    Limit("two_blocks", "plain_chunked", 2.2),
    Limit("two_minimal_blocks", "reference", 2.5),
    Limit("pre_norm", "plain", 7.0),
    Limit("pre_norm_embedding_dropout", "plain", 3.5),
)
"""The first four are what the kernel reached in its first measurement; it should not fall behind that."""
AUTO_WORST = 1.10
"""What `auto` may take of the time of the best other way."""
MOST_GIGABYTES = 0.6
"""Peak memory of a process with the kernel."""


Kept = Literal["yes", "within its repeats", "no"]


class Held(NamedTuple):
    """One limit and what was measured: the median, and the smallest and largest within one repeat where known."""

    measured: float
    spread: list[float] | None
    kept: Kept
    """`within its repeats`: the median misses the limit, one of the repeats does not"""


def _kept(median: bool, best: bool) -> Kept:
    return "yes" if median else "within its repeats" if best else "no"


def faster(result: dict[str, Any], limit: Limit) -> Held | None:
    """`None` where the result does not have this case on the kernel."""
    seconds = result["seconds"].get(limit.case, {})
    if "kernel" not in seconds or limit.over not in seconds:
        return None
    measured = seconds[limit.over] / seconds["kernel"]
    spread = result["ratio_spread"][limit.case]["kernel"] if limit.over == "plain" else None
    return Held(measured, spread, _kept(measured >= limit.least, spread is not None and spread[1] >= limit.least))


def auto(result: dict[str, Any]) -> Held | None:
    """The worst choice of `auto`, with the interval of its cell."""
    if not result.get("auto"):
        return None
    cells = [cell for axes in result["auto"]["sizes"].values() for values in axes.values() for cell in values.values()]
    worst = max(cells, key=lambda cell: float(cell["ratio"]))
    ratio, interval = worst["ratio"], worst["interval"]
    return Held(ratio, interval, _kept(ratio <= AUTO_WORST, interval[0] <= AUTO_WORST))


def memory(result: dict[str, Any]) -> Held | None:
    """The case that needs most."""
    peaks = [paths["kernel"] for paths in result["memory"].values() if "kernel" in paths]
    return Held(max(peaks), None, _kept(max(peaks) < MOST_GIGABYTES, False)) if peaks else None
