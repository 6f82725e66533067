"""How large a reproduction is: `paper`, the paper's sizes where two cores allow it, and `quick`, minutes in all.

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
"""The minimal model as published; its curves are flat well before step 1000."""

MINIMAL_TEXT = {"quick": Size(500, 600, 2000, 20), "paper": Size(500, 1000, 10_000, 50)}
"""The text's rate is 27 times smaller: its 2000 steps, and on to 10,000 at paper scale, there with batch 500 where the
paper has 3000, as all runs of the headline claims would otherwise take six hours on two cores."""

FULL = {"quick": Size(128, 200, 1000), "paper": Size(500, 1000, 2000)}
"""Variations of the full decoder: the paper's 2000 steps, with batch 500 where it has 3000; all of them would otherwise
take a day."""

OWN: dict[str, dict[Scale, Size]] = {
    "full": {"quick": FULL["quick"], "paper": Size(3000, 3000, 1000)},
    "sgd": {"quick": Size(64, 200, 4500, 50), "paper": Size(500, 1000, 6000, 50)},
    "depth-minimal": {"quick": Size(100, 300, 1000), "paper": FULL["paper"]},
    "depth-full": {"quick": Size(64, 200, 1000), "paper": Size(250, 1000, 2000)},
}
"""Experiments with a size of their own: the full decoder itself with the paper's batch, SGD for its 6000 steps, and
smaller batches where there is no fast path."""


def size_of(config: RunConfig, scale: Scale) -> Size:
    """The size of an experiment at a scale."""
    if config.experiment in OWN:
        return OWN[config.experiment][scale]
    if config.model.embedding == "learned":
        return FULL[scale]
    return (MINIMAL_TEXT if config.preset == "text" else MINIMAL)[scale]


def at_scale(config: RunConfig, scale: Scale, *, seed: int) -> RunConfig:
    """An experiment's config at a scale, with a seed.

    A training set of up to a batch, or of little more than one, is seen whole at every step, as in the paper. Every run
    is compared with the best predictors from the first groups, which the tests of stages need.
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
            "measure.at": Schedule(every=size.every),
            "measure.snapshots": SNAPSHOTS,
            "measure.bayes": tuple(range(1, config.task.h + 1)),
        }
    )
