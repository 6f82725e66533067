"""No check holds whatever it is given: a formula wrong by a thousandth, a constant too small, a limit elsewhere."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from headwise.theory.registry import check_statement

Change = Callable[[Any], Any]


def larger(function: Callable[..., Any]) -> Callable[..., Any]:
    """A formula that is a thousandth too large."""
    return lambda *given, **named: np.asarray(function(*given, **named)) * 1.001


def scaled(factor: float) -> Change:
    return lambda function: lambda *given, **named: function(*given, **named) * factor


def first_scaled(factor: float) -> Change:
    """The first of several arrays that a function returns, multiplied."""

    def change(function: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*given: Any, **named: Any) -> Any:
            first, *others = function(*given, **named)
            return (first * factor, *others)

        return changed

    return change


def backwards(function: Callable[..., Any]) -> Callable[..., Any]:
    """Instances whose strengths rise instead of falling."""

    def changed(*given: Any, **named: Any) -> Any:
        instance = function(*given, **named)
        return replace(instance, strengths=instance.strengths[::-1])

    return changed


def instead(value: Any) -> Change:
    return lambda _: value


FORMULAS = [
    ("tensor_inner_product", "double_sum"), ("deviation_split", "display"), ("deviation_rates", "display"),
    ("coupled_system", "one_head"), ("coupled_kernel", "display"), ("value_order_rate", "display"),
    ("attention_order_rate", "display"), ("initial_velocity", "display"), ("initial_value_curvature", "corrected"),
    ("initial_attention_curvature", "corrected"), ("cooperative_system", "three_equations"),
    ("cooperative_gradient", "corrected"), ("cooperative_ascent", "corrected"), ("optimality_rate", "corrected"),
    ("two_scale", "two_scale"), ("projector_expansion", "corrected"), ("first_position_rate", "corrected"),
    ("other_positions_rate", "display"), ("first_feature_rate", "corrected"), ("reduced_ascent", "display"),
    ("cooperative_kernel", "corrected"), ("nth_head_system", "reduced"), ("nth_head_rate", "display"),
]  # fmt: skip
"""Statements that compare two sides, and the function that makes the claimed one."""


@pytest.mark.parametrize(("module", "claimed"), FORMULAS)
def test_a_formula_that_is_wrong_by_a_thousandth_fails(
    module: str, claimed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert corrected(module, monkeypatch, claimed, lambda function: function) != "fails"
    assert corrected(module, monkeypatch, claimed, larger) == "fails"


@pytest.mark.parametrize(
    ("module", "part", "change"),
    [
        ("symmetry", "transformed", larger),
        ("identifiability_example", "mixed_logits", larger),
        ("identifiability_family", "mixed_features", larger),
        ("noise_assumption", "flow_gradient", larger),
        ("haar_features", "haar_orthogonal", instead(lambda d, rng: np.eye(d))),
        ("isotropic_scale", "scaled_time", instead(lambda i, V, s, sigma: (V, s))),
        ("one_hot_tokens", "moments", scaled(1.001)),
        ("moment_identities", "populations", instead(lambda rng, d, T: [rng.standard_normal((3 * d * T, d, T))])),
        ("moment_vector", "populations", instead(lambda rng, d, T: [rng.standard_normal((3 * d * T, d, T))])),
        ("factorization", "pi", scaled(1.001)),
        ("attention_dynamics", "pi", scaled(1.001)),
        ("kernel", "pi", instead(lambda s: np.eye(len(s)))),
        ("kernel_deficit", "null_vectors", lambda function: lambda s: function(s / s.sum())),
        ("ordering", "pi", scaled(-1.0)),
        ("coupled_lyapunov", "pi", lambda function: lambda s: function(s) + 1e-3 * np.eye(len(s))),
        ("coupling_region", "flow", first_scaled(-1.0)),
        ("coupling_boundary", "flow", first_scaled(-1.0)),
        ("coupling_projection", "times", scaled(1.001)),
        ("coupling", "final_state", first_scaled(1.01)),
        ("coupling_rate", "leading_gap", scaled(2.0)),
        ("value_bound", "peak", scaled(10.0)),
        ("bounded", "growth_constant", scaled(0.02)),
        ("deviation_order", "differences", lambda function: lambda point: np.sqrt(function(point))),
        ("initial_value_growth", "flow", first_scaled(1.2)),
        ("initial_leader", "second_derivatives", lambda function: lambda i: (0, -function(i)[1])),
        ("initial_attention_growth", "centred_squares", scaled(2.0)),
        ("initialization_basin", "draw_instance", backwards),
        ("bounded_cooperative", "growth_constant", scaled(0.02)),
        ("later_stability", "constant", scaled(0.02)),
        ("optimality", "RIGHT", instead(0.5)),
        ("cooperative_order_rates", "velocities", first_scaled(1.001)),
        ("cooperative_region", "pi", lambda function: lambda s: function(s) @ np.diag(np.arange(len(s)))),
        ("kernel_inclusion", "pi", instead(lambda s: np.eye(len(s)))),
        ("cooperative_stationarity", "times", scaled(1.001)),
        ("edge_points", "F", scaled(1.1)),
        ("initial_loss", "start_potential", scaled(-1.0)),
        ("remaining_heads", "flow", lambda function: lambda goal, V, s: function(1.001 * goal, V, s)),
    ],
)
def test_a_broken_statement_fails(module: str, part: str, change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    assert corrected(module, monkeypatch, part, change) == "fails"


@pytest.mark.parametrize("module", ["cooperative_limit", "higher"])
def test_a_late_head_that_ended_elsewhere_would_fail(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from headwise.theory import late_limit

    monkeypatch.setattr(late_limit, "resting_share", lambda strength, *, b, norm: 1.0)
    assert check_statement(module.replace("_", "-"), trials=2).corrected.verdict == "fails"


@pytest.mark.parametrize(
    ("module", "part", "change"),
    [
        ("bounded", "growth_constant", scaled(0.001)),
        ("optimality", "PROOF", instead(8.0)),
        ("construction_offset", "LARGE", instead(1.0)),
    ],
)
def test_what_holds_as_printed_could_fail_as_printed(
    module: str, part: str, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weak, vacuous and dependent ones included: their tests are not true of everything."""
    code = statement_module(module)
    monkeypatch.setattr(code, part, change(getattr(code, part)))
    result = check_statement(module.replace("_", "-"), trials=3)
    assert result.printed.verdict == "fails"
    assert result.fault in ("unclassified", "typo")


def corrected(module: str, monkeypatch: pytest.MonkeyPatch, part: str, change: Change) -> str:
    """The verdict as corrected, one part of the statement's module being changed."""
    code = statement_module(module)
    with monkeypatch.context() as patched:
        patched.setattr(code, part, change(getattr(code, part)))
        return check_statement(module.replace("_", "-"), trials=3).corrected.verdict


def statement_module(module: str) -> ModuleType:
    return importlib.import_module(f"headwise.theory.statements.{module}")
