"""A few random sequences, learned by heart: nothing in them holds for other sequences."""

from __future__ import annotations

from dataclasses import replace

from headwise.zoo.quiet_training import BASE as QUIET
from headwise.zoo.quiet_training import DEVELOPMENT, HELD_OUT, RUNS, make_quiet, varied
from headwise.zoo.training import Kind, Setting, Training

BASE: Setting = {**QUIET, "rate": 0.003, "known": 64}


def make(setting: Setting, seed: int) -> Training:
    """Weights at the start and the sequences from the seed."""
    return replace(make_quiet(setting, seed), pool=setting["known"])


KIND = Kind(
    "memorised_labels",
    __doc__,
    make,
    development=varied(BASE, DEVELOPMENT),
    held_out=varied(BASE, ({**HELD_OUT[0], "known": 48}, *HELD_OUT[1:])),
    runs=RUNS,
    nothing=True,
)
