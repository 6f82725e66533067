"""All statements in the order of the paper, and running them: in parallel and reproducibly."""

from __future__ import annotations

import difflib
import importlib
import time
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.seeds import check_seed
from headwise.flow.workers import process_pool
from headwise.theory.statement import (
    NOT_PRINTED,
    Counterexample,
    Fault,
    Outcome,
    Search,
    Statement,
    effective_fault,
    over_readings,
)

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
    "moment_identities",
    "moment_vector",
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
    "coupling_boundary",
    "coupled_kernel",
    "coupling_projection",
    "coupling",
    "coupling_rate",
    "value_bound",
    "deviation_split",
    "deviation_rates",
    "deviation_order",
    "bounded",
    "initial_velocity",
    "initial_value_growth",
    "initial_value_curvature",
    "initial_attention_curvature",
    "initial_leader",
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
    "cooperative_order_rates",
    "cooperative_region",
    "reduced_ascent",
    "kernel_inclusion",
    "cooperative_stationarity",
    "cooperative_kernel",
    "edge_points",
    "cooperative_limit",
    "initial_loss",
    "remaining_heads",
    "nth_head_system",
    "nth_head_rate",
    "higher",
    "later_stability",
    "stage_boundaries",
    "compensation",
    "theory_over_simulation",
)
TRIALS = 20


@dataclass(frozen=True)
class Result:
    """One statement with both outcomes, what is wrong with it as printed, what was found, and how long it took.

    `fault` is the class of what is wrong; a failure that nobody has classified is `unclassified`.
    """

    name: str
    label: str
    claim: str
    correction: str
    printed: Outcome
    corrected: Outcome
    searches: tuple[Search, ...]
    seconds: float
    fault: Fault | Literal["unclassified"] | None = None
    readings: tuple[tuple[str, Outcome], ...] = ()
    counterexample: Counterexample | None = None


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
    readings = tuple(
        (reading.words, reading.check(fresh(3 + k), trials)) for k, reading in enumerate(statement.readings)
    )
    if readings:
        printed = over_readings(list(readings))
    else:
        printed = statement.as_printed(fresh(0), trials) if statement.as_printed else NOT_PRINTED
    corrected = statement.as_corrected(fresh(1), trials) if statement.as_corrected else printed
    searches = tuple(statement.searches(fresh(2), trials)) if statement.searches else ()
    counterexample = statement.counterexample() if statement.counterexample else None
    return Result(
        name=statement.name,
        label=statement.label,
        claim=statement.claim,
        correction=statement.correction,
        printed=printed,
        corrected=corrected,
        searches=searches,
        seconds=time.perf_counter() - began,
        fault=effective_fault(statement, printed),
        readings=readings,
        counterexample=counterexample,
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
    """Whether no corrected statement fails."""
    return all(result.corrected.verdict != "fails" for result in results)


def all_classified(results: Sequence[Result]) -> bool:
    """Whether every failure as printed has its class, and every counter-example refutes what it is given for."""
    return all(
        result.fault != "unclassified" and (result.counterexample is None or result.counterexample.refutes)
        for result in results
    )
