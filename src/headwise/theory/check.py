"""`check`: the paper's statements, as printed and as corrected, tested on random instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwise.core.errors import ConfigError
from headwise.core.named_options import named_options
from headwise.theory.document import check_document
from headwise.theory.registry import (
    TRIALS,
    Result,
    all_classified,
    all_corrected_hold,
    run_checks,
    statement_names,
)
from headwise.theory.table import results_table


@dataclass(frozen=True)
class CheckedStatements:
    """The result of each statement, in the order of the paper; `str` of this is what `headwise check` prints."""

    results: tuple[Result, ...] = field(repr=False)
    trials: int
    seed: int
    named: bool = False

    @property
    def hold(self) -> bool:
        """Whether every corrected statement holds, exactly or approximately, and every failure has its class."""
        return all_corrected_hold(self.results) and all_classified(self.results)

    def to_json(self) -> dict[str, Any]:
        """`statements` with verdicts, errors and evidence, and what they were checked with, ready for JSON."""
        return check_document(self.results, trials=self.trials, seed=self.seed)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __str__(self) -> str:
        return results_table(self.results, explained=self.named)


@named_options
def check(
    names: Sequence[str] = (),
    *,
    trials: int = TRIALS,
    seed: int = 0,
    workers: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> CheckedStatements:
    """Test the named statements, or all of them, each on `trials` random instances.

    `progress` is called with how many statements are done and how many there are. With several workers and several
    statements a script must stand under `if __name__ == "__main__":`, because each worker imports it.

    >>> from headwise import check
    >>> [statement] = check(["ordering"], trials=5)
    >>> statement.printed.verdict, statement.fault, statement.corrected.verdict
    ('fails', 'false', 'holds')
    """
    if workers < 1:
        raise ConfigError(f"--workers {workers} must be at least 1")
    if isinstance(names, str):
        raise ConfigError(f"statements are given as a list of names, such as [{names!r}]")
    results = run_checks(names, trials=trials, seed=seed, workers=workers, progress=progress)
    return CheckedStatements(tuple(results), trials, seed, bool(names))


@named_options
def list_statements() -> list[str]:
    """The names that `check` takes, in the order of the paper.

    >>> from headwise import list_statements
    >>> "ordering" in list_statements()
    True
    """
    return statement_names()
