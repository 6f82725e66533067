"""The flow against automatic differentiation of the loss, and the loss against samples of the regression task."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headwise.flow.full import FullSystem, split_values
from headwise.flow.reduction import State
from headwise.flow.systems import all_heads
from headwise.flow.target import Target


def problem(seed: int) -> tuple[Target, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    d, n, positions, heads = 5, 3, 6, 4
    features = rng.standard_normal((n, d, d))
    features /= np.linalg.norm(features, axis=(1, 2), keepdims=True)
    flat = features.reshape(n, -1)
    patterns = np.zeros((n, positions))
    patterns[0, [0, 3]], patterns[1, 1], patterns[2, [2, 4]] = (0.6, 0.4), 1.0, (0.5, 0.5)
    target = Target(np.array([2.0, 1.4, 0.9]), patterns, flat @ flat.T)
    q = rng.standard_normal((heads, positions))
    return target, features, rng.standard_normal((heads, d, d)), q - q.mean(-1, keepdims=True)


def population_loss(target: Target, features: np.ndarray, values: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """½ E‖y_θ(X) − y*(X)‖² for tokens with E[x_i x_jᵀ] = 1{i=j} I: the squared norm of the linear map X → y."""
    goal = np.einsum("j,jab,jt->abt", target.strengths, features, target.patterns)
    learned = torch.einsum("kab,kt->abt", values, torch.softmax(q, -1))
    return 0.5 * ((learned - torch.as_tensor(goal)) ** 2).sum()


@pytest.mark.parametrize("seed", range(3))
def test_flow_is_minus_the_autodiff_gradient(seed: int) -> None:
    target, features, values, q = problem(seed)
    v, logits = torch.tensor(values, requires_grad=True), torch.tensor(q, requires_grad=True)
    loss = population_loss(target, features, v, logits)
    loss.backward()
    assert v.grad is not None
    assert logits.grad is not None
    full = FullSystem(target, features, len(q))
    y = full.pack(values, q)
    shift, step = full.unpack(full.field(0.0, y))
    np.testing.assert_allclose(shift.reshape(values.shape), -v.grad.numpy(), atol=1e-12)
    np.testing.assert_allclose(step, -logits.grad.numpy(), atol=1e-12)
    assert full.loss(y) == pytest.approx(loss.item(), rel=1e-12)
    coefficients, outside = split_values(values, features)
    system = all_heads(target, len(q), outside=outside)
    state = State(coefficients, q, np.eye(len(q)))
    np.testing.assert_allclose(system.velocity(state).moving, -logits.grad.numpy(), atol=1e-12)
    assert system.loss(state) == pytest.approx(loss.item(), rel=1e-12)
    assert system.loss_rate(state) == pytest.approx(
        -(v.grad**2).sum().item() - (logits.grad**2).sum().item(), rel=1e-10
    )


@pytest.mark.parametrize("tokens", ["gaussian", "rademacher"])
def test_population_loss_is_what_samples_average_to(tokens: str) -> None:
    target, features, values, q = problem(7)
    rng = np.random.default_rng(8)
    count, noise = 40_000, 0.3
    d, positions = values.shape[1], q.shape[1]
    x = rng.standard_normal((count, d, positions))
    if tokens == "rademacher":
        x = np.sign(x)
    goal = np.einsum("j,jab,nbt,jt->na", target.strengths, features, x, target.patterns, optimize=True)
    s = np.exp(q) / np.exp(q).sum(-1, keepdims=True)
    error = np.einsum("kab,nbt,kt->na", values, x, s, optimize=True) - goal - noise * rng.standard_normal((count, d))
    sample = 0.5 * np.sum(error**2, axis=-1)
    exact = population_loss(target, features, torch.tensor(values), torch.tensor(q)).item() + 0.5 * d * noise**2
    assert abs(sample.mean() - exact) < 4 * sample.std() / np.sqrt(count)
