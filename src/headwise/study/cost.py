"""How long a run will take, roughly: for plans and progress, never for results."""

from __future__ import annotations

from collections.abc import Sequence

from headwise.measure.ablations import ablations
from headwise.measure.config import MeasureConfig
from headwise.model.handled import not_handled
from headwise.study.config import RunConfig, stream_size
from headwise.training.passes import share_with_dropout

# Nanoseconds on one core of a common server processor, on the kernel path where no other is named; within a factor of
# two elsewhere.
PER_SCORE = 1.0
PER_PRODUCT = 0.025
PER_WINDOW = 900.0
"""A window is a row of its own, with its own softmax over the tokens."""
PER_DROPPED_POSITION = 4000.0
"""At width 255: what dropout on embeddings adds for every input position, where no norm comes first."""
PAIRED_TABLES = 1.5
"""How much longer the first block takes when a norm before it makes its tables ones of token and position."""
PER_STEP_AND_WEIGHT = 75.0
"""Folding a learned embedding into tables, once a step however small the batch; per head and squared width."""
SLOWER_ON_REFERENCE = 12.0
REFERENCE_PER_POSITION = 12e-3
"""On the reference path, for every position and squared size of the stream, where no table serves a block."""
REFERENCE_PER_WINDOW = 30_000.0
"""On the reference path a window, however short, goes through every operation of a block."""
SLOWER_ON_TORCH = 3.5
"""The torch path, where tables serve its only block; elsewhere it is nearer to the reference..."""
TORCH_OF_REFERENCE = 0.8
"""...and takes this share of it."""
EVALUATION_SHARE = 0.5
READ_OUT = 0.4
"""Share of a pass that is left after the heads of the last block, where head importance takes a head out."""
START_SECONDS = 4.0


def estimate_seconds(config: RunConfig) -> float:
    """Seconds of one run on one core, its restricted-context models not included.

    The path is the one that is asked for; `auto` is taken for the kernel, which it is unless a machine has none.
    """
    model, train = config.model, config.train
    with_dropout = share_with_dropout(train) if model.dropout.embedding else 0.0
    nanoseconds = with_dropout * _nanoseconds(config, dropped=True)
    nanoseconds += (1 - with_dropout) * _nanoseconds(config, dropped=False)
    fixed = 0.0
    if model.embedding == "learned" and _path(config) != "reference":
        fixed = 1e-9 * PER_STEP_AND_WEIGHT * model.heads * model.width**2
    per_sequence = 1e-9 * nanoseconds
    evaluations = evaluation_count(config.measure, train.steps)
    evaluated = evaluations * config.measure.test_samples * EVALUATION_SHARE
    # Heads are taken out on the reference path, whichever trains; of a step a pass without gradients is a third there.
    ablated = importance_passes(config) * config.measure.test_samples * 1e-9 * _on_reference(config) / 3
    return START_SECONDS + train.steps * fixed + per_sequence * (train.steps * train.batch + evaluated) + ablated


def _path(config: RunConfig) -> str:
    """The path that is asked for, or the reference where no other computes the model."""
    return "reference" if not_handled(config.model) is not None else config.compute.path


def _nanoseconds(config: RunConfig, *, dropped: bool) -> float:
    """Nanoseconds of a step for each sequence; `dropped` are coordinates of its embeddings."""
    task, model = config.task, config.model
    positions = model.window or task.w + task.T - 1
    rows = task.T if model.window else 1
    first = _first_block(config)
    later = 3 * PER_SCORE * model.heads * positions**2 + 3 * PER_PRODUCT * positions * _weights_of_a_block(config)
    if model.norm == "pre":
        first = later if dropped else PAIRED_TABLES * first
    elif dropped:
        first += positions * PER_DROPPED_POSITION * model.width / 255
    nanoseconds = rows * (first + (model.blocks - 1) * later + (PER_WINDOW if model.window else 0.0))
    path = _path(config)
    if path == "reference":
        return _on_reference(config)
    if path == "torch":
        tables = model.blocks == 1 and model.norm != "pre" and not dropped
        return SLOWER_ON_TORCH * nanoseconds if tables else TORCH_OF_REFERENCE * _on_reference(config)
    return nanoseconds


def _first_block(config: RunConfig) -> float:
    """Nanoseconds of a block with tables, for each sequence."""
    task, model = config.task, config.model
    queries = 1 if model.window else task.T
    writes = model.width if model.unembedding == "learned" else task.d
    scores = model.heads * queries * (model.window or task.w + task.T - 1)
    products = scores * writes + queries * (2 * writes * model.mlp + (writes * task.d if writes != task.d else 0))
    return 3 * PER_SCORE * scores + 3 * PER_PRODUCT * products


def _on_reference(config: RunConfig) -> float:
    """Nanoseconds of a step for each sequence on the reference path."""
    model = config.model
    positions = model.window or config.task.w + config.task.T - 1
    if model.window:
        block = REFERENCE_PER_WINDOW + 3 * PER_PRODUCT * positions * _weights_of_a_block(config)
        return config.task.T * model.blocks * block
    if model.blocks > 1 or model.norm == "pre":
        without_tables = REFERENCE_PER_POSITION * positions * stream_size(config) ** 2
        return model.blocks * (SLOWER_ON_REFERENCE * _first_block(config) + without_tables)
    return SLOWER_ON_REFERENCE * _first_block(config)


def _weights_of_a_block(config: RunConfig) -> float:
    """Multiplications of one position with the matrices of a block that no table serves."""
    model, stream = config.model, stream_size(config)
    writes = model.width if model.unembedding == "learned" else config.task.d
    scores = model.heads * stream**2 if model.score == "merged" else 2 * stream * model.width
    values = 2 * stream * model.width if model.output == "on" else model.heads * stream * writes
    return scores + values + 2 * writes * model.mlp


def importance_seconds(config: RunConfig) -> float:
    """Seconds that head importance adds to a run."""
    return estimate_seconds(config) - estimate_seconds(
        config.changed({"measure.importance": None, "measure.importance_of": "heads"})
    )


def importance_passes(config: RunConfig) -> float:
    """Passes over the test sequences that head importance takes in the whole run, as if each were a pass of its own.

    One pass for the means and one as the model is; a model without a head is computed from that head's block on.
    """
    measure, model = config.measure, config.model
    if measure.importance is None:
        return 0.0
    each = sum(1 for _ in ablations([model.heads], measure.importance_of))
    after = sum(READ_OUT + (model.blocks - 1 - block) / model.blocks for block in range(model.blocks))
    return len(measure.importance_steps(config.train.steps)) * (2 + each * after)


def seconds_of_steps(config: RunConfig, steps: int) -> float:
    """Seconds of some of a run's steps, with their share of its evaluations and without its start."""
    whole = max(config.train.steps, 1)
    return (estimate_seconds(config.changed({"train.steps": whole})) - START_SECONDS) * steps / whole


def estimate_wall(configs: Sequence[RunConfig], workers: int) -> float:
    """Seconds until all are done on this many workers, shared out greedily."""
    loads = [0.0] * max(workers, 1)
    for seconds in sorted((estimate_seconds(config) for config in configs), reverse=True):
        loads[loads.index(min(loads))] += seconds
    return max(loads)


def evaluation_count(measure: MeasureConfig, steps: int) -> int:
    """About how often a run is measured."""
    dense = sum((last - first) // every for first, last, every in measure.at.dense)
    return steps // measure.at.every + dense + steps // measure.snapshots.every + 1


def readable(seconds: float) -> str:
    """`40 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
