"""Thousands of flows over seeds and parameters, in parallel, keeping a few numbers of each.

Flows of one shape are solved together in batches, and batches run in separate processes, one thread each. Memory is
bounded by the batch: about 13 × batch × size numbers per process, whatever the number of flows or the end time.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.seeds import check_seed
from headwise.flow.batch import integrate_batch
from headwise.flow.config import FlowConfig, head_count
from headwise.flow.heads import contributions
from headwise.flow.reduction import State, System
from headwise.flow.stages import learned_feature, stage_levels
from headwise.flow.start import initial_logits, initial_values
from headwise.flow.systems import all_heads
from headwise.flow.target import build_target, stack_targets
from headwise.flow.workers import process_pool

BATCH = 128


@dataclass(frozen=True)
class FlowSummary:
    """What is kept of one flow. Heads count from 1; a stage that is not reached has no time and no head.

    Stage k ends when the loss crosses the k-th midpoint between plateaus. The loss levels alone do not say what was
    learned, so `stage_features[k]` is the feature learned in that stage: the k-th most complete one at that time, and
    `stage_heads[k]` the head that delivers most of it. `owners[j]` delivers most of feature j at the end.
    `lowest_alignment[head][feature]` is the smallest ⟨V, V*⟩ at any step of the solver: a compensation dip if negative.
    """

    seed: int
    stage_times: tuple[float | None, ...]
    stage_features: tuple[int | None, ...]
    stage_heads: tuple[int | None, ...]
    owners: tuple[int, ...]
    final_loss: float
    lowest_alignment: tuple[tuple[float, ...], ...]

    @property
    def in_order(self) -> bool:
        """Whether every feature was learned, in the order of importance and each by a head of its own."""
        features = tuple(range(1, len(self.owners) + 1))
        return self.stage_features == features and len(set(self.owners)) == len(self.owners)


def solve_together(flows: Sequence[tuple[FlowConfig, int]]) -> list[FlowSummary]:
    """Flows of one shape and one set of tolerances as a single batch."""
    first = flows[0][0]
    targets = [build_target(config, seed) for config, seed in flows]
    shared = all(config == first for config, _ in flows) and first.features != "haar"
    target = targets[0] if shared else stack_targets(targets)
    logits = np.stack([initial_logits(config, seed) for config, seed in flows])
    values = [initial_values(config, seed) for config, seed in flows]
    outside = None if values[0][1] is None else np.stack([gram for _, gram in values if gram is not None])
    heads = head_count(first)
    mixing = None if outside is None else np.broadcast_to(np.eye(heads), (len(flows), heads, heads))
    system = all_heads(target, heads, outside=outside, metric=first.metric)
    y = system.pack(State(np.stack([c for c, _ in values]), logits, mixing))
    levels = np.stack([stage_levels(t) for t in targets])
    solution = integrate_batch(system, y, levels=levels, t_end=first.t_end, rtol=first.rtol, atol=first.atol)
    return [
        _summary(
            system,
            solution.times[i],
            solution.crossing_states[i],
            solution.last[i],
            i,
            seed,
            solution.lowest_alignment[i],
        )
        for i, (_, seed) in enumerate(flows)
    ]


def _summary(
    system: System,
    times: np.ndarray,
    crossings: np.ndarray,
    last: np.ndarray,
    index: int,
    seed: int,
    lowest: np.ndarray,
) -> FlowSummary:
    own = system.take(np.array(index)) if system.target.strengths.ndim > 1 or system.outside is not None else system

    def delivered(y: np.ndarray) -> np.ndarray:
        state = own.unpack(y)
        return contributions(own.target, state.coefficients, own.attention(state))

    features: list[int | None] = []
    heads: list[int | None] = []
    for k, (t, y) in enumerate(zip(times, crossings, strict=True)):
        if np.isnan(t):
            features.append(None)
            heads.append(None)
            continue
        share = delivered(y)
        feature = learned_feature(share, own.target.strengths, k)
        features.append(feature + 1)
        heads.append(int(np.argmax(share[:, feature])) + 1)
    return FlowSummary(
        seed=seed,
        stage_times=tuple(None if np.isnan(t) else float(t) for t in times),
        stage_features=tuple(features),
        stage_heads=tuple(heads),
        owners=tuple(int(k) + 1 for k in np.argmax(delivered(last), axis=0)),
        final_loss=float(own.loss(own.unpack(last))),
        lowest_alignment=tuple(tuple(float(v) for v in row) for row in lowest),
    )


def shape_of(config: FlowConfig) -> tuple[object, ...]:
    """What flows must share to be solved in one batch."""
    return (
        config.h,
        head_count(config),
        config.T,
        config.metric,
        config.values,
        config.t_end,
        config.rtol,
        config.atol,
    )


def ensemble(
    flows: Iterable[tuple[FlowConfig, int]],
    *,
    workers: int | None = None,
    batch: int = BATCH,
    progress: Callable[[int, int], None] | None = None,
) -> list[FlowSummary]:
    """Solve every (config, seed), in the order given; `progress` is called with (done, total) after every batch.

    Only the flow of all heads in the reduction, by DOP853, is batched: other systems are refused.
    """
    flows = list(flows)
    for config, seed in flows:
        check_seed(seed)
        if config.system != "heads" or config.method != "DOP853" or config.state != "reduced" or config.chart != "q":
            raise ConfigError("--seeds needs system = heads, state = reduced, chart = q and method = DOP853")
    if batch < 1:
        raise ConfigError(f"batch = {batch} must be at least 1")
    workers = workers if workers is not None else max(1, os.cpu_count() or 1)
    results: list[FlowSummary | None] = [None] * len(flows)
    done = 0

    def record(indices: Sequence[int], summaries: Sequence[FlowSummary]) -> None:
        nonlocal done
        for i, summary in zip(indices, summaries, strict=True):
            results[i] = summary
        done += len(indices)
        if progress is not None:
            progress(done, len(flows))

    chunks = list(_chunks([config for config, _ in flows], workers=workers, batch=batch))
    if workers == 1 or len(chunks) == 1:
        for indices in chunks:
            record(indices, solve_together([flows[i] for i in indices]))
    else:
        with process_pool(workers) as pool:
            waiting = iter(chunks)
            running: dict[Future[list[FlowSummary]], list[int]] = {}
            for indices in itertools.islice(waiting, 2 * workers):
                running[pool.submit(solve_together, [flows[i] for i in indices])] = indices
            while running:
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    record(running.pop(future), future.result())
                    for indices in itertools.islice(waiting, 1):
                        running[pool.submit(solve_together, [flows[i] for i in indices])] = indices
    return [summary for summary in results if summary is not None]


def _chunks(configs: Sequence[FlowConfig], *, workers: int, batch: int) -> Iterator[list[int]]:
    """Indices of flows to solve together: one shape, at most `batch`, and enough chunks for every worker."""
    by_shape: dict[tuple[object, ...], list[int]] = {}
    for i, config in enumerate(configs):
        by_shape.setdefault(shape_of(config), []).append(i)
    size = min(batch, max(1, -(-len(configs) // workers)))
    for indices in by_shape.values():
        for first in range(0, len(indices), size):
            yield indices[first : first + size]
