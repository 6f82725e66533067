"""Lists of seeds on the command line: `3`, `0..9`, `0,2,5` or a mixture."""

from __future__ import annotations

import re

from headwise.core.errors import ConfigError

MOST = 100_000


def parse_seeds(text: str, option: str = "--seeds") -> list[int]:
    """The seeds in the order given; a range includes both ends."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:\.\.(\d{1,9}))?\s*", part)
        if match is None:
            raise ConfigError(f"{option} {text!r}: give numbers and ranges such as 0..9 or 0,2,5")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first >= MOST:
            raise ConfigError(f"{option} {text!r}: a range goes upwards and holds at most {MOST} seeds")
        seeds.extend(range(first, last + 1))
    if len(set(seeds)) < len(seeds):
        raise ConfigError(f"{option} {text!r} names a seed twice; name each once")
    return seeds


def parse_seed(text: str) -> int:
    """One seed."""
    seeds = parse_seeds(text, "--seed")
    if len(seeds) > 1:
        raise ConfigError("--seed takes one number; --seeds takes several")
    return seeds[0]
