"""Whether `auto` ever loses: a step at many sizes, one changed at a time from the paper's, in every way to compute it.

A cell has as many sequences as plain torch manages in about a fifth of a second, so that all of them take minutes; the
batches are what they say, up to where plain torch would take ten seconds. Plain torch runs in the chunk that suits it
best. Ways that would need more than 0.6 GB for their tables are left out, and those that took more than twice the
fastest in the second turn, or four times in the first, are not timed again: they cannot be the best.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from headwise.bench.cases import CHUNK, SEED, Sizes, paper_sizes, prepared
from headwise.bench.growth import changed
from headwise.bench.peers import best_chunk, fastest_plain
from headwise.bench.plain import plain_step
from headwise.bench.timing import Clock, interleaved, spread
from headwise.model.cost import work
from headwise.model.kernel_engine import KernelEngine
from headwise.model.plan import batch_sizes, possible
from headwise.model.seen_tokens import seen_tokens
from headwise.model.tables import Output
from headwise.model.tabulated import TabulatedEngine

AXES: dict[str, tuple[int, ...]] = {
    "d": (10, 200, 500, 2000, 5000),
    "T": (5, 100, 500),
    "batch": (8, 60, 300, 3000, 30_000),
    "heads": (1, 15, 51),
    "width": (60, 510),
    "blocks": (2, 3),
}
MODELS = ("full", "full_embedding_dropout", "pre_norm", "minimal")
"""Cases whose sizes are changed; a minimal model has no width."""
OPERATIONS = 6e9
"""Operations of plain torch that are about a fifth of a second."""
LONGEST = 4e11
"""Operations of plain torch beyond which a batch is left out: about ten seconds."""
FEWEST = 8
"""Sequences that a cell has in any case."""
HOPELESS = (4.0, 2.0)
"""How many times the fastest a way may take in the first turn, and in the second, to be timed at all."""
TABLE_ELEMENTS = 2e7
"""Elements of tables that need about 0.6 GB together with their gradients and sums in double."""


class Cell(NamedTuple):
    """One setting: a model, which size is changed, and to what."""

    case: str
    axis: str
    value: int
    sizes: Sizes


def cells(*, batch: int) -> Iterator[Cell]:
    """Every setting, with at most `batch` sequences but for the axis of batches."""
    for case in MODELS:
        for axis, values in AXES.items():
            if case == "minimal" and axis == "width":
                continue
            for value in values:
                sizes = changed(paper_sizes(case, batch=batch), axis, value)  # type: ignore[arg-type]
                each = _operations(sizes)
                if axis == "batch":
                    sizes = sizes._replace(batch=max(1, value * batch // 3000))
                    if sizes.batch * each > LONGEST:
                        continue
                else:
                    sizes = sizes._replace(batch=min(sizes.batch, max(FEWEST, int(OPERATIONS / each))))
                yield Cell(case, axis, value, sizes)


def _operations(sizes: Sizes) -> float:
    """What plain torch computes in a step for one sequence, roughly."""
    model, positions = sizes.model, sizes.positions
    stream = sizes.d + positions if model.embedding == "one_hot" else model.width
    inner = model.heads * stream if model.embedding == "one_hot" else model.width
    block = positions * stream * (4 * inner + 2 * model.mlp) + 2 * positions**2 * inner
    read = positions * stream * sizes.d if model.unembedding == "learned" else 0
    return 6.0 * (model.blocks * block + read)


def ways(sizes: Sizes) -> tuple[dict[str, Callable[[], object]], str]:
    """Every way to compute a step, by name, and the name of the one that `auto` takes."""
    decoder, inputs, targets = prepared(sizes)
    found: dict[str, Callable[[], object]] = {}

    def kernel_way(engine: KernelEngine) -> Callable[[], object]:
        return lambda: engine.loss_and_gradients(inputs, targets, step=0)

    auto = KernelEngine(decoder, dropout_seed=SEED, chunk=CHUNK)
    seen = seen_tokens(inputs, decoder.dictionary)
    tokens = decoder.dictionary if seen is None else len(seen.tokens)
    planned = auto.planned(batch=sizes.batch, queries=sizes.T, training=True, tokens=tokens)
    counted = batch_sizes(decoder, batch=sizes.batch, queries=sizes.T, chunk=CHUNK, training=True, tokens=tokens)
    for source in possible(sizes.model, training=True):
        outputs: tuple[Output, ...] = ("folded", "apart")
        if sizes.model.output == "off" or source == "dropped":
            outputs = ("folded",)
        for output in outputs:
            if (source, output) == planned or work(counted, source, output).elements > TABLE_ELEMENTS:
                continue
            engine = KernelEngine(decoder, dropout_seed=SEED, chunk=CHUNK, source=source, output=output)
            found[f"kernel, {source}, {output}"] = kernel_way(engine)
    found["auto"] = kernel_way(auto)
    torch_engine = TabulatedEngine(decoder, dropout_seed=SEED, chunk=CHUNK)
    found["torch"] = lambda: torch_engine.loss_and_gradients(inputs, targets, step=0)
    plain = fastest_plain(decoder)
    chunk = best_chunk(plain, inputs, targets)
    found["plain"] = lambda: plain_step(plain, inputs, targets, chunk=chunk)
    return found, f"kernel, {planned.source}, {planned.output}"


def measure_sizes(
    *,
    batch: int,
    repeats: int,
    clock: Clock = "wall",
    only: tuple[str, ...] = (),
    before: dict[str, Any] | None = None,
    keep: Callable[[dict[str, Any]], None] | None = None,
    report: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Per case, axis and value: seconds of every way, what `auto` takes, and its time over the best of the others.

    `worst` is the largest of these ratios; `only` keeps the cells whose case or axis is named. Cells that `before` has
    are not measured again; `keep` gets the result after every cell.
    """
    found: dict[str, Any] = (before or {}).get("sizes", {})
    for cell in cells(batch=batch):
        if only and cell.case not in only and cell.axis not in only:
            continue
        values = found.setdefault(cell.case, {}).setdefault(cell.axis, {})
        if str(cell.value) in values:
            continue
        result = values[str(cell.value)] = _measured(cell, repeats=repeats, clock=clock)
        if report is not None:
            report(sentence(cell, result))
        if keep is not None:
            keep(_with_worst(found))
    return _with_worst(found)


def _with_worst(found: dict[str, Any]) -> dict[str, Any]:
    ratios = [r["ratio"] for axes in found.values() for values in axes.values() for r in values.values()]
    return {"worst": max(ratios, default=1.0), "sizes": found}


def _measured(cell: Cell, *, repeats: int, clock: Clock) -> dict[str, Any]:
    """One cell: medians of every way that may be the best, and `auto` over the best of the others."""
    runs, choice = ways(cell.sizes)
    seconds = interleaved(_hopeful(runs, clock), repeats=repeats, clock=clock, warm=False)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    others = {name: took for name, took in medians.items() if name != "auto"}
    best = min(others, key=lambda name: others[name])
    return {
        "batch": cell.sizes.batch,
        "choice": choice,
        "best": best,
        "ratio": medians["auto"] / medians[best],
        "interval": spread(seconds["auto"], seconds[best]),
        "seconds": medians,
    }


def _hopeful(runs: dict[str, Callable[[], object]], clock: Clock) -> dict[str, Callable[[], object]]:
    """`auto`, and the ways that may be the best, by a first run of all and a second of those that are left."""
    for limit in HOPELESS:
        took = {name: times[0] for name, times in interleaved(runs, repeats=1, clock=clock, warm=False).items()}
        fastest = min(seconds for name, seconds in took.items() if name != "auto")
        runs = {name: run for name, run in runs.items() if name == "auto" or took[name] <= limit * fastest}
    return runs


def sentence(cell: Cell, result: dict[str, Any]) -> str:
    """One cell as a line."""
    low, high = result["interval"]
    return (
        f"{cell.case}, {cell.axis} = {cell.value}, batch {result['batch']}: {result['choice']} "
        f"{result['seconds']['auto']:.4f} s, {result['ratio']:.2f} ({low:.2f} to {high:.2f}) times {result['best']}"
    )
