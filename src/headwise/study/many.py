"""Many runs: each finds on disk what is already done, a failed one does not stop the rest.

The run directory is the truth. A task returns a small status; whether a run is complete is read from its directory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from headwise.core.config import validated
from headwise.core.errors import HeadwiseError
from headwise.store import run_path, run_status
from headwise.study.config import RunConfig, config_hash, window_config

Ended = Literal["finished", "diverged", "failed"]


@dataclass(frozen=True)
class Outcome:
    """How one run ended."""

    run: Path
    status: Ended
    reason: str = ""


def place(config: RunConfig, out: Path | str) -> Path:
    """Where a run lives; needs no torch."""
    return run_path(out, experiment=config.experiment, config_hash=config_hash(config), seed=config.seed)


def with_prerequisites(configs: Iterable[RunConfig]) -> list[RunConfig]:
    """Every run once, restricted-context models before the runs that are compared with them."""
    wanted = list(configs)
    first = [window_config(config, c) for config in wanted for c in config.measure.windows]
    seen: dict[tuple[str, str, int], RunConfig] = {}
    for config in [*first, *wanted]:
        seen.setdefault((config.experiment, config_hash(config), config.seed), config)
    return list(seen.values())


def missing(configs: Sequence[RunConfig], out: Path | str) -> list[RunConfig]:
    """Those that have not ended yet."""
    return [config for config in configs if not (place(config, out) / "manifest.json").exists()]


def run_all(
    configs: Sequence[RunConfig],
    out: Path | str,
    *,
    executor: Executor,
    argv: list[str],
    ended: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Compute what is missing, prerequisites first; an outcome for every run, in the order given."""
    outcomes: dict[Path, Outcome] = {}
    for batch in _layers(configs):
        futures = {}
        for config in missing(batch, out):
            document = config.model_dump(mode="json")
            futures[executor.submit(compute_one, document, str(out), argv)] = place(config, out)
        for future in as_completed(futures):
            path = futures[future]
            problem = future.result() if future.exception() is None else f"the worker failed: {future.exception()}"
            outcomes[path] = _outcome(path, problem)
            ended(outcomes[path])
    return [outcomes.get(place(config, out)) or _outcome(place(config, out), "") for config in configs]


def compute_one(document: dict[str, Any], out: str, argv: list[str]) -> str:
    """One run in a worker; the reason of a failure, or nothing."""
    from headwise.study.runner import execute

    try:
        execute(validated(RunConfig, document), out, argv=argv)
    except HeadwiseError as error:
        return " ".join(str(error).split())
    return ""


def _layers(configs: Sequence[RunConfig]) -> Iterator[list[RunConfig]]:
    """Runs that can be computed side by side: first the restricted-context models, then the rest."""
    whole = with_prerequisites(configs)
    yield [config for config in whole if config.model.window is not None]
    yield [config for config in whole if config.model.window is None]


def _outcome(path: Path, problem: str) -> Outcome:
    status = run_status(path) if path.is_dir() else "interrupted"
    if status == "finished":
        return Outcome(path, "finished")
    if status == "diverged":
        return Outcome(path, "diverged", "the loss became infinite")
    return Outcome(path, "failed", problem or f"the run is {status}")
