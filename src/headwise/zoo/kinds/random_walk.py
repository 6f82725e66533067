"""Weights that take independent random steps: nothing is learned."""

from __future__ import annotations

from dataclasses import replace

from headwise.zoo.quiet_training import BASE as QUIET
from headwise.zoo.quiet_training import DEVELOPMENT, HELD_OUT, RUNS, make_quiet, varied
from headwise.zoo.training import Kind, Setting, Training

BASE: Setting = {**QUIET, "rate": 0.006}


def make(setting: Setting, seed: int) -> Training:
    """Weights at the start and how they move from the seed."""
    return replace(make_quiet(setting, seed), moves="walk")


KIND = Kind(
    "random_walk",
    __doc__,
    make,
    development=varied(BASE, DEVELOPMENT),
    held_out=varied(BASE, HELD_OUT),
    runs=RUNS,
    nothing=True,
)
