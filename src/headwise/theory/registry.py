"""All statements in the order of the paper, and running them: in parallel and reproducibly."""

from __future__ import annotations

import difflib
import importlib
import time
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.seeds import check_seed
from headwise.flow.workers import process_pool
from headwise.theory.statement import Outcome, Search, Statement

MODULES = (
    "construction_offset",
    "construction_weights",
    "symmetry",
    "identifiability_example",
    "identifiability_family",
    "noise_assumption",
    "haar_features",
    "isotropic_scale",
    "one_hot_tokens",
    "tensor_inner_product",
    "factorization",
    "attention_dynamics",
    "kernel",
    "kernel_deficit",
    "ordering",
    "coupled_system",
    "coupled_lyapunov",
    "value_order_rate",
    "attention_order_rate",
    "coupling_region",
    "coupled_kernel",
    "coupling",
    "coupling_rate",
    "value_bound",
    "bounded",
    "initial_velocity",
    "initial_value_curvature",
    "initial_attention_curvature",
    "initial_attention_growth",
    "initialization_basin",
    "cooperative_system",
    "cooperative_gradient",
    "cooperative_ascent",
    "bounded_cooperative",
    "optimality",
    "optimality_rate",
    "two_scale",
    "projector_expansion",
    "first_position_rate",
    "other_positions_rate",
    "first_feature_rate",
    "cooperative_region",
    "cooperative_kernel",
    "edge_points",
    "cooperative_limit",
    "initial_loss",
    "remaining_heads",
    "nth_head_rate",
    "higher",
    "stage_boundaries",
    "compensation",
    "theory_over_simulation",
)
TRIALS = 20


@dataclass(frozen=True)
class Result:
    """One statement with both outcomes, what the searches found, and how long it took."""

    name: str
    label: str
    claim: str
    correction: str
    printed: Outcome
    corrected: Outcome
    searches: tuple[Search, ...]
    seconds: float


def statement_names() -> list[str]:
    """Names of all statements, without importing them: a module's name with dashes."""
    return [module.replace("_", "-") for module in MODULES]


def load_statement(name: str) -> Statement:
    """The statement of that name."""
    names = statement_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; one of {', '.join(names)}"
        raise ConfigError(f"unknown statement {name!r}{hint}")
    module = importlib.import_module(f"headwise.theory.statements.{name.replace('-', '_')}")
    statement: Statement = module.STATEMENT
    return statement


def check_statement(name: str, trials: int = TRIALS, seed: int = 0) -> Result:
    """Both checks of one statement. Its random numbers depend on the seed and its own name alone."""
    if trials < 1:
        raise ConfigError(f"trials = {trials} must be at least 1")
    check_seed(seed)
    statement = load_statement(name)

    def fresh(purpose: int) -> np.random.Generator:
        return np.random.default_rng([seed, zlib.crc32(name.encode()), purpose])

    began = time.perf_counter()
    printed, corrected = statement.as_printed(fresh(0), trials), statement.as_corrected(fresh(1), trials)
    searches = tuple(statement.searches(fresh(2), trials)) if statement.searches else ()
    seconds = time.perf_counter() - began
    return Result(
        statement.name, statement.label, statement.claim, statement.correction, printed, corrected, searches, seconds
    )


def run_checks(
    names: Sequence[str] = (),
    *,
    trials: int = TRIALS,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Check the named statements, or all of them, in the order of the paper."""
    known = statement_names()
    for name in names:
        load_statement(name)
    wanted = [name for name in known if not names or name in names]
    if workers == 1 or len(wanted) == 1:
        results = []
        for done, name in enumerate(wanted, start=1):
            results.append(check_statement(name, trials, seed))
            if progress is not None:
                progress(done, len(wanted))
        return results
    found: dict[str, Result] = {}
    with process_pool(workers) as pool:
        # The slow ones are about whole flows and come last in the paper: start them first.
        futures = {pool.submit(check_statement, name, trials, seed): name for name in reversed(wanted)}
        for done, future in enumerate(as_completed(futures), start=1):
            found[futures[future]] = future.result()
            if progress is not None:
                progress(done, len(wanted))
    return [found[name] for name in wanted]


def all_corrected_hold(results: Sequence[Result]) -> bool:
    """Whether no corrected statement fails: the exit code of the command line."""
    return all(result.corrected.verdict != "fails" for result in results)
