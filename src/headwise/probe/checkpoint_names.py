"""Which training step a checkpoint's name tells: checkpoint-100, step-001000-2BT, epoch=0-step=500, a bare number.

Where people name otherwise, a pattern of theirs says where the number is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from headwise.core.errors import ConfigError

ALONE = re.compile(r"(?:checkpoint|global_step|step|iter)[-_]?(\d+)")
"""A name that is nothing but a step: always taken for a checkpoint, so that a damaged one is named."""
WITHIN = re.compile(r"(?:^|[-_.])(?:checkpoint|global_step|step|iter|ckpt)[-_=]?(\d+)(?=$|[-_.])", re.IGNORECASE)
BARE = re.compile(r"\d+")

LAST_STEP = 10**15

StepOf = Callable[[str], int | None]


def step_of(name: str) -> int | None:
    """The step in a name, None where it tells none; of several the last, as in stage1-step1000-tokens5B.

    >>> [step_of(name) for name in ("checkpoint-100", "step-001000-2BT", "epoch=0-step=500", "2000", "final")]
    [100, 1000, 500, 2000, None]
    """
    if BARE.fullmatch(name):
        return int(name)
    found = WITHIN.findall(name)
    return int(found[-1]) if found else None


def step_reader(pattern: str | None) -> StepOf:
    """What reads steps from names: the usual forms, or the one group of a pattern."""
    if pattern is None:
        return step_of
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"--step-pattern {pattern!r} is no regular expression: {error}") from None
    if compiled.groups != 1:
        raise ConfigError(
            f"--step-pattern {pattern!r} has {compiled.groups} groups; put the number into one, as in 'model_(\\d+)'"
        )

    def own(name: str) -> int | None:
        found = compiled.search(name)
        if found is None or found[1] is None:
            return None
        if not found[1].isdecimal():
            raise ConfigError(f"--step-pattern {pattern!r} finds {found[1]!r} in {name!r}, which is no whole number")
        return int(found[1])

    return own
