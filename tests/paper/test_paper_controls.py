"""Every claim about stages rejects every trajectory without them, and accepts one that has them.

A new claim is tested here by being in the manifest and saying what it concerns.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
import xarray as xr
from scipy.special import softmax

from headwise.paper.controls import CONTROLS
from headwise.paper.controls.contexts import Contexts, divergence, uniform_contexts
from headwise.paper.controls.restricted import restricted
from headwise.paper.controls.staged import Script, staged
from headwise.paper.entry import Case, Claim
from headwise.paper.head_stages import judge_specialisation
from headwise.paper.manifest import ENTRIES
from headwise.paper.stages import judge_stages, passage
from headwise.study.config import Preset, RunConfig
from headwise.study.experiments import experiment
from headwise.task.chain import build_task, log_softmax
from headwise.task.config import TaskConfig

CONCERNED = [entry for entry in ENTRIES.values() if isinstance(entry, Claim) and entry.concerns]
READINGS: tuple[Preset, ...] = ("published", "text")

SCRIPTS: dict[str, dict[str, Script]] = {
    "init-scale": {
        "init-xavier": Script(at=(0.1, 0.25, 0.6)),
        "init-1e-3": Script(at=(0.1, 0.35, 0.6)),
        "init-1e-6": Script(at=(0.1, 0.45, 0.7)),
        "minimal": Script(at=(0.1, 0.5, 0.7)),
        "init-0": Script(at=(0.1, 0.5, 0.7), stages=1),
    },
    "hierarchy": {
        "ratio-1": Script(at=(0.2, 0.5, 0.5), width=0.1),
        "ratio-1.3": Script(at=(0.2, 0.4, 0.6), width=0.1),
        "ratio-1.5": Script(at=(0.2, 0.45, 0.7), width=0.1),
        "init-xavier": Script(at=(0.2, 0.5, 0.8), width=0.1),
    },
    "data-size": {"samples-600": Script(stages=1), "samples-2000": Script(stages=2), "online": Script(rest=0.001)},
    "reverse-easier": {"reverse": Script(rest=0.05), "full": Script(rest=0.2)},
    "depth": {"depth-minimal": Script(at=(0.1, 0.2, 0.75))},
    "depth-full": {"depth-full": Script(at=(0.1, 0.2, 0.75))},
    "heads-data": {"samples-2000": Script(stages=2)},
}
SCRIPTS["hierarchy-small"] = {
    {"init-xavier": "minimal"}.get(name, f"small-{name}"): script for name, script in SCRIPTS["hierarchy"].items()
}
"""Where a claim says something else of each run than that it has three stages: runs for which it is true."""


@functools.cache
def contexts(task: TaskConfig) -> Contexts:
    return uniform_contexts(build_task(task, 0))


@functools.cache
def control(name: str, task: TaskConfig, heads: int) -> xr.Dataset:
    return CONTROLS[name].make(contexts(task), heads)


@functools.cache
def good(task: TaskConfig, heads: int, script: Script) -> xr.Dataset:
    run = staged(contexts(task), heads, script)
    if script.stages == 1:  # heads that are exactly alike stay so
        first = run.isel(head=[0] * heads).assign_coords(head=run["head"])
        return first.assign(head_overlap=run["head_overlap"])
    return run


def configs(claim: Claim, preset: Preset) -> dict[str, RunConfig]:
    return {name: experiment(name, preset) for name in claim.experiments}


def readings(claim: Claim) -> list[Preset]:
    return [preset for preset in READINGS if preset in claim.presets]


@pytest.mark.parametrize("claim", CONCERNED, ids=lambda claim: claim.name)
def test_no_claim_about_stages_accepts_a_run_without_them(claim: Claim) -> None:
    for preset in readings(claim):
        for name, one in CONTROLS.items():
            if one.concerns & claim.concerns:
                runs = {n: control(name, c.task, c.model.heads) for n, c in configs(claim, preset).items()}
                judged = claim.judge(Case(preset, "paper", 0, runs))
                assert judged.passed is False, f"{preset}, {name}: {judged}"


@pytest.mark.parametrize("claim", CONCERNED, ids=lambda claim: claim.name)
def test_every_claim_about_stages_accepts_a_run_with_them(claim: Claim) -> None:
    for preset in readings(claim):
        scripts = SCRIPTS.get(claim.name, {})
        runs = {
            name: good(config.task, config.model.heads, scripts.get(name, Script()))
            for name, config in configs(claim, preset).items()
        }
        judged = claim.judge(Case(preset, "paper", 0, runs))
        assert judged.passed is True, f"{preset}: {judged}"


def test_the_claims_concerned_are_those_about_stages_order_competition_and_offshoots() -> None:
    """One that loses its mark would no longer be tested."""
    assert len(CONCERNED) >= 30
    names = {claim.name for claim in CONCERNED}
    assert {"order", "order-full", "online", "reverse", "sgd", "alpha", "positions", "ladder", "overlap"} <= names
    assert {"depth", "depth-full", "competition", "offshoot", "hierarchy", "init-scale", "data-size", "joint"} <= names
    assert "windows" in names


@pytest.mark.parametrize("name", ["overlap-order", "early-stop", "early-stop-ample", "overfit-structure"])
def test_what_compares_runs_says_nothing_for_runs_without_stages(name: str) -> None:
    """Two controls differ in nothing that these claims speak of; some cannot even be read."""
    claim = ENTRIES[name]
    assert isinstance(claim, Claim)
    for kind in CONTROLS:
        runs = {n: control(kind, c.task, c.model.heads) for n, c in configs(claim, "published").items()}
        assert claim.judge(Case("published", "paper", 0, runs)).passed is not True, kind


@pytest.mark.parametrize("name", ["all logits", "one head"])
def test_heads_that_never_divide_the_groups_are_not_specialised(name: str) -> None:
    task = experiment("minimal", "published").task
    assert judge_specialisation(control(name, task, 3)).passed is False
    assert judge_specialisation(good(task, 3, Script())).passed is True


def test_the_best_predictor_beats_every_other_that_sees_as_much() -> None:
    """Of the contexts' own predictors: Eq. 2 and flattened versions of it have a larger expected loss."""
    seen = contexts(experiment("minimal", "published").task)
    for best, prefix in zip(seen.best[:-1], seen.prefix[:-1], strict=True):
        least = divergence(seen.law, best)
        others = [log_softmax(scale * prefix) for scale in np.linspace(0.1, 1.0, 10)]
        assert least < min(divergence(seen.law, other) for other in others)


@pytest.mark.parametrize("name", ["full", "reverse", "overlap-3-heads"])
def test_a_model_of_restricted_context_is_the_best_that_sees_its_tokens(name: str) -> None:
    """Against SciPy's softmax of the whole sum, averaged over other draws of the hidden tokens."""
    task = build_task(experiment(name, "published").task, 0)
    seen = uniform_contexts(task)
    found = restricted(seen)
    ends = sorted({max(max(group) for group in task.lags[:i]) for i in (1, 2, 3)})
    assert list(found) == [f"window_{size}" for size in ends]
    rng = np.random.default_rng(5)
    for size in ends[:-1]:
        for row in range(3):
            logits = np.zeros((4000, task.config.d))
            for lag in range(task.config.w):
                hidden = rng.integers(task.config.d, size=4000)
                logits += task.lag_tables[lag][seen.tokens[row, lag] if lag < size else hidden]
            expected = softmax(logits, axis=1).mean(0)
            assert np.abs(np.exp(found[f"window_{size}"][row]) - expected).sum() < 0.1
    assert (found[f"window_{task.config.w}"] == seen.law).all()


def test_a_window_that_is_passed_out_of_turn_fails() -> None:
    """The stages alone are not enough: contexts have to be the nearest one after the other, the last at the end."""
    config = experiment("windows", "published")
    claim = ENTRIES["windows"]
    assert isinstance(claim, Claim)
    run = good(config.task, config.model.heads, Script())
    swapped = {"window_4": "window_8", "window_8": "window_4"}
    names = [swapped.get(str(name), str(name)) for name in run["predictor"].values]
    for name, passes in ((run, True), (run.assign_coords(predictor=names), False)):
        assert judge_stages(name).passed
        assert claim.judge(Case("published", "paper", 0, {"windows": name})).passed is passes


def test_a_start_that_never_was_on_the_plateau_of_equal_heads_is_no_perturbation_of_them() -> None:
    claim = ENTRIES["init-scale"]
    assert isinstance(claim, Claim)
    for first, passes in ((0.1, True), (0.25, False)):
        scripts = {**SCRIPTS["init-scale"], "init-0": Script(at=(first, 0.5, 0.7), stages=1)}
        runs = {
            name: good(config.task, config.model.heads, scripts[name])
            for name, config in configs(claim, "published").items()
        }
        assert claim.judge(Case("published", "paper", 0, runs)).passed is passes


def test_a_dip_and_a_rise_alone_are_not_a_stage() -> None:
    """The distance to f_{A_1} dips and rises by more than a nat while everything is learned at once."""
    run = control("all logits", experiment("minimal", "published").task, 3)
    curve = run["kl"].sel(predictor="prefix_1").values
    assert curve[-1] - curve.min() > 1.0
    assert 0 < curve.argmin() < len(curve) - 1
    assert judge_stages(run).passed is False


def test_an_unfinished_last_stage_is_open_and_one_that_never_begins_is_not() -> None:
    task = experiment("minimal", "published").task
    late = good(task, 3, Script(at=(0.15, 0.45, 1.0), width=0.15))
    assert judge_stages(late).passed is None
    assert "not over" in judge_stages(late).note
    assert judge_stages(good(task, 3, Script(stages=1))).passed is False


def test_what_cannot_be_read_is_open() -> None:
    run = good(experiment("minimal", "published").task, 3, Script())
    assert judge_stages(run).passed
    for broken, words in (
        (run.assign(kl=run["kl"] * float("nan")), "finite"),
        (run.isel(predictor=slice(0, 3)), "measure.bayes"),
        (run.drop_vars("kl"), "not recorded"),
        (run.assign_attrs(bayes='{"bayes_1": {"converged": false}}'), "converge"),
    ):
        judged = judge_stages(broken)
        assert judged.passed is None
        assert judged.measured is None
        assert words in judged.note
    assert isinstance(passage(run.isel(predictor=slice(0, 3))), str)
