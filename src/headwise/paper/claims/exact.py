"""Statements that hold exactly: representation and symmetries (§2.2), decompositions (App. A), theorems (§3).

Only the one on decompositions also reads a trained run.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

import numpy as np

from headwise.core.seeds import Stream, generator
from headwise.paper.entry import Case, Claim
from headwise.paper.head_stages import SPECIALISED, judge_specialisation
from headwise.paper.limit import Limit
from headwise.paper.scale import Scale
from headwise.paper.verdict import Judgement

if TYPE_CHECKING:
    from headwise.theory.registry import Result

SHARPNESS = (5.0, 10.0, 20.0, 40.0)
LAST = Limit("<", 1e-6)
ROUNDING = Limit("<", 1e-9)
FAILING = Limit("<=", 0)
SEQUENCES = 50
TRIALS: dict[Scale, int] = {"quick": 3, "paper": 20}


def judge_representation(case: Case) -> Judgement:
    """Log-probabilities of the construction against the chain's own, for growing λ; measured: the error at the last."""
    import torch

    from headwise.model.construction import construct
    from headwise.study.experiments import experiment
    from headwise.task.chain import build_task, log_probabilities, sample

    config = experiment("minimal", case.preset).task
    task = build_task(config, case.seed)
    sequences = sample(task, SEQUENCES, generator(case.seed, Stream.TEST))
    truth = log_probabilities(task, sequences)
    errors = []
    for sharpness in SHARPNESS:
        decoder = construct(
            task.features, task.lags, task.alpha, positions=config.w + config.T - 1, sharpness=sharpness
        )
        with torch.no_grad():
            logits, _ = decoder(torch.from_numpy(sequences[:, :-1]), counted=config.T)
        errors.append(float(np.abs(logits.log_softmax(-1).numpy() - truth).max()))
    falls = all(a > b for a, b in itertools.pairwise(errors))
    note = "largest error of a log-probability: " + ", ".join(
        f"{e:.1g} at λ = {s:g}" for s, e in zip(SHARPNESS, errors, strict=True)
    )
    return Judgement(falls and LAST.holds(errors[-1]), errors[-1], note)


def judge_symmetry(case: Case) -> Judgement:
    """Logits before and after (M⁻¹Q, MᵀK) with a random M per head, and after a permutation of the heads."""
    import torch

    from headwise.model.config import ModelConfig
    from headwise.model.decoder import Decoder

    rng = generator(case.seed, Stream.INIT)
    config = ModelConfig(score="product")
    decoder = Decoder(config, dictionary=10, positions=12).double()
    tokens = torch.from_numpy(rng.integers(0, 10, (20, 12)))
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.copy_(torch.from_numpy(rng.standard_normal(tuple(parameter.shape)) / 4))
        attention = decoder.layers[0].attention
        before = decoder(tokens, counted=12)[0]
        size = attention.query_HED.shape[1]
        for head in range(config.heads):
            mixing = torch.from_numpy(np.eye(size) + rng.standard_normal((size, size)) / (4 * np.sqrt(size)))
            attention.query_HED[head] = torch.linalg.solve(mixing, attention.query_HED[head])
            attention.key_HED[head] = mixing.T @ attention.key_HED[head]
        mixed = float((decoder(tokens, counted=12)[0] - before).abs().max())
        order = torch.tensor([2, 0, 1])
        for matrix in (attention.query_HED, attention.key_HED, attention.value_HED):
            matrix.copy_(matrix[order].clone())
        permuted = float((decoder(tokens, counted=12)[0] - before).abs().max())
    worst = max(mixed, permuted)
    return Judgement(ROUNDING.holds(worst), worst, f"(M⁻¹Q, MᵀK): {mixed:.1g}; permuted as well: {permuted:.1g}")


def judge_gauge(case: Case) -> Judgement:
    """A random equivalent decomposition is the same law, another one is not; trained heads end on different groups."""
    from headwise.study.experiments import experiment
    from headwise.task.chain import build_task
    from headwise.task.equivalents import Decomposition, decomposition_of, mixed, random_mixing, same_law

    task = build_task(experiment("minimal", case.preset).task, case.seed)
    own = decomposition_of(task)
    matrix = random_mixing(len(task.features), generator(case.seed, Stream.NOISE))
    same = same_law(own, mixed(own, matrix))
    other = same_law(own, Decomposition(own.features, matrix @ own.weights))
    found = judge_specialisation(case.runs["minimal"])
    note = f"mixed decomposition the same law: {same}; weights mixed alone: {other}; {found.note}"
    return Judgement(bool(same and not other and found.passed), found.measured, note)


@functools.lru_cache(maxsize=8)
def checked(scale: Scale, seed: int) -> tuple[Result, ...]:
    """Every statement of the theory on random instances, few of them at quick scale."""
    from headwise.theory.registry import run_checks

    return tuple(run_checks(trials=TRIALS[scale], seed=seed))


def judge_theorems(case: Case) -> Judgement:
    """Every numbered result as printed; measured: how many fail. The note has the verdict and the class of each."""
    from headwise.theory.theorems import numbered_results

    results = checked(case.scale, case.seed)
    numbered = numbered_results(results)
    failing = [one for one in numbered if one.printed == "fails"]
    note = "as printed " + ", ".join(
        f"{one.name} {one.printed}" + (f" ({one.fault})" if one.fault else "") for one in numbered
    )
    broken = [result.name for result in results if result.corrected.verdict == "fails"]
    note += f"; as corrected fail: {', '.join(broken) or 'none'} of {len(results)} statements"
    return Judgement(FAILING.holds(len(failing)), float(len(failing)), note)


CLAIMS = (
    Claim(
        "representation",
        "sec:representation",
        "the λ-construction's attention tends to the ideal pattern and its logits to Eq. 1",
        quantity=f"largest error of a log-probability at λ = {SHARPNESS[-1]:g}",
        unit="nats",
        threshold=f"falls with λ = {', '.join(f'{s:g}' for s in SHARPNESS)} and {LAST} at the last",
        limit=LAST,
        judge=judge_representation,
    ),
    Claim(
        "symmetry",
        "sec:representation",
        "(M⁻¹Q, MᵀK) and permutations of heads leave the model unchanged",
        quantity="largest change of a logit",
        unit="nats",
        threshold=f"{ROUNDING} in double precision",
        limit=ROUNDING,
        judge=judge_symmetry,
    ),
    Claim(
        "gauge",
        "app:identifiability, sec:incremental",
        "equivalent decompositions give the same law; training finds the sparse disjoint one",
        ("minimal",),
        quantity="smallest share of a head on its own group at the end",
        unit="share of attention",
        threshold=f"same law to rounding, and {SPECIALISED}",
        judge=judge_gauge,
    ),
    Claim(
        "theorems",
        "sec. 3, app. B, C",
        "every proposition, theorem, lemma and remark holds as printed, on random instances",
        quantity="numbered results that fail as printed",
        unit="of 11",
        threshold=f"{FAILING}; one that depends on its reading, or is weak or vacuous, does not fail and is named",
        limit=FAILING,
        judge=judge_theorems,
    ),
)
