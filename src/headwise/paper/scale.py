"""How large a reproduction is: `paper`, the paper's sizes, and `quick`, minutes in all.

Both keep the task, the model and the optimiser as the preset gives them; only the number of sequences per step, of test
sequences and of steps changes. What differs from the paper is listed here and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headwise.measure.config import Schedule
from headwise.study.config import RunConfig

Scale = Literal["quick", "paper"]

SNAPSHOTS = Schedule(every=50, dense=((60, 60, 1),))
"""Attention maps, among them those of steps 0, 60, 300 and 1000, which the paper draws."""


@dataclass(frozen=True)
class Size:
    """Sequences per step and per evaluation, steps, and steps between evaluations."""

    batch: int
    test: int
    steps: int
    every: int = 10


MINIMAL = {"quick": Size(500, 600, 1000), "paper": Size(3000, 3000, 1000)}
"""The minimal model as published: stages are over by step 1000, which is as far as the figures go."""

TO_THE_END = Size(3000, 3000, 2000)
JUDGED_AT_THE_END = (
    "minimal",
    "heads-4",
    "init-0",
    "no-weight-decay",
    "head-dynamics",
    "samples-600",
    "samples-600-ample",
    "online",
)
"""Runs whose end a claim is about and the run they are compared with: at paper scale the paper's 2000 steps, because
attention on I(3) still rises at 1000. Fresh data too: its figure goes there."""

MINIMAL_TEXT = {"quick": Size(500, 600, 2000, 20), "paper": Size(3000, 3000, 10_000, 50)}
"""The text's rate is 27 times smaller: its 2000 steps, and on to 10,000 at paper scale."""

FULL = {"quick": Size(128, 200, 1000), "paper": Size(3000, 3000, 1000)}
"""The full decoder and its variations: as far as the figures go."""

OWN: dict[str, dict[Scale, Size]] = {
    "sgd": {"quick": Size(64, 200, 4500, 50), "paper": Size(3000, 3000, 6000, 50)},
    "depth-minimal": {"quick": Size(100, 300, 1000), "paper": FULL["paper"]},
    "depth-full": {"quick": Size(64, 200, 1000), "paper": FULL["paper"]},
}
"""Experiments with a size of their own: SGD for its 6000 steps, and at quick scale smaller batches where there is no
fast path."""


def size_of(config: RunConfig, scale: Scale) -> Size:
    """The size of an experiment at a scale."""
    if config.experiment in OWN:
        return OWN[config.experiment][scale]
    if config.model.embedding == "learned":
        return FULL[scale]
    if config.preset == "text":
        return MINIMAL_TEXT[scale]
    return TO_THE_END if scale == "paper" and config.experiment in JUDGED_AT_THE_END else MINIMAL[scale]


def at_scale(config: RunConfig, scale: Scale, *, seed: int) -> RunConfig:
    """An experiment's config at a scale, with a seed.

    A training set of up to a batch, or of little more than one, is seen whole at every step, as in the paper. Every run
    is compared with the best predictors from the first groups, which the tests of stages need. A run is also measured
    after one step, where the figures begin.
    """
    size = size_of(config, scale)
    batch = min(size.batch, config.train.samples)
    if config.train.batch == config.train.samples and config.train.samples < 2 * size.batch:
        batch = config.train.samples
    return config.changed(
        {
            "seed": seed,
            "train.batch": batch,
            "train.steps": size.steps,
            "measure.test_samples": size.test,
            "measure.at": Schedule(every=size.every, dense=((1, 1, 1),)),
            "measure.snapshots": SNAPSHOTS,
            "measure.bayes": tuple(range(1, config.task.h + 1)),
        }
    )
