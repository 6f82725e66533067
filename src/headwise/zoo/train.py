"""Trains the zoo: every run that is not stored yet, one after the other or on several processes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from headwise.core.errors import ConfigError
from headwise.zoo.kinds import MODULES, find_kind
from headwise.zoo.training import Part


def planned(part: Part, kinds: Sequence[str] = MODULES) -> list[tuple[str, int]]:
    """Kind and place in its plan of every run of a part; kinds take turns, so that a part cut short has all of them."""
    plans = [(name, len(find_kind(name).plan(part))) for name in kinds]
    order = sorted((place / count, name, place) for name, count in plans for place in range(count))
    return [(name, place) for _, name, place in order]


def train_zoo(
    out: Path | str, *, part: Part = "development", kinds: Sequence[str] = MODULES, workers: int = 1
) -> list[Path]:
    """Train what is missing; returns the marks of the runs trained now."""
    if workers < 1:
        raise ConfigError(f"workers = {workers} must be at least 1")
    folder = Path(out) / part
    missing = [job for job in planned(part, kinds) if not _mark(folder, part, *job).is_file()]
    if workers == 1:
        return [_told(train_one(folder, part, name, place)) for name, place in missing]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        begun = [pool.submit(train_one, folder, part, name, place) for name, place in missing]
        return [_told(future.result()) for future in begun]


def train_one(folder: Path, part: Part, name: str, place: int) -> Path:
    """One run, stored."""
    import torch

    from headwise.zoo.loop import run
    from headwise.zoo.stored import write_run

    torch.set_num_threads(1)
    kind = find_kind(name)
    setting, seed = kind.plan(part)[place]
    return write_run(folder, run(kind, setting, seed))


def _mark(folder: Path, part: Part, name: str, place: int) -> Path:
    return folder / f"{name}-{find_kind(name).plan(part)[place][1]:04d}.json"


def _told(mark: Path) -> Path:
    print(f"trained {mark.stem}", file=sys.stderr, flush=True)
    return mark
