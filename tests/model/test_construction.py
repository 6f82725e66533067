"""The construction of §2.2 tends to Eq. 1 as its sharpness grows, for any weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headwise.model.config import MINIMAL_PUBLISHED
from headwise.model.construction import construct
from headwise.task.chain import build_task, log_probabilities, sample
from headwise.task.config import TaskConfig

TASKS = {
    "uniform": TaskConfig(d=6, T=6),
    "sum": TaskConfig(d=6, T=6, alpha="sum"),
    "given": TaskConfig(d=6, T=6, alpha=(0.7, 0.3)),
    "unnormalised": TaskConfig(d=6, T=6, alpha=((1.0, 2.0), (0.0, 0.5), (0.3, 0.1))),
    "reversed": TaskConfig(d=6, T=6, groups="reversed"),
    "overlapping": TaskConfig(d=6, T=6, w=8, groups=((5, 6, 7, 8), (3, 4, 5, 6), (1, 2, 3, 4)), overlap="allow"),
}


def error(task_config: TaskConfig, sharpness: float, published: bool) -> tuple[float, float]:
    task = build_task(task_config, 0)
    sequences = sample(task, 20, np.random.default_rng(0))
    decoder = construct(
        task.features,
        task.lags,
        task.alpha,
        positions=sequences.shape[1] - 1,
        sharpness=sharpness,
        config=MINIMAL_PUBLISHED if published else None,
    )
    logits, [attention] = decoder(torch.from_numpy(sequences[:, :-1]), task_config.T)
    truth = sum(
        task.lag_tables[lag - 1][sequences[:, task_config.w - lag : sequences.shape[1] - lag]]
        for lag in range(1, task_config.w + 1)
    )
    ideal = np.zeros(attention.shape[1:])
    for k, (lags, weights) in enumerate(zip(task.lags, task.alpha, strict=True)):
        for lag, weight in zip(lags, weights, strict=True):
            for q in range(task_config.T):
                ideal[k, q, task_config.w + q - lag] = weight / sum(weights)
    attention_error = float((attention.detach().numpy() - ideal).__abs__().max())
    logit_error = float(np.abs(logits.detach().numpy() - truth).max())
    law = log_probabilities(task, sequences)
    assert np.abs(logits.log_softmax(-1).detach().numpy() - law).max() <= 2 * logit_error + 1e-12
    return logit_error, attention_error


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("name", list(TASKS))
def test_logits_tend_to_the_law(name: str, published: bool) -> None:
    errors = [error(TASKS[name], sharpness, published) for sharpness in (5.0, 10.0, 20.0, 40.0)]
    assert errors[-1][0] < 1e-6
    assert errors[-1][1] < 1e-12
    # Attention leaks like exp(-lambda): ten more in lambda, four more digits.
    assert errors[1][1] < 1e-2 * errors[0][1]
    assert errors[2][1] < 1e-3 * errors[1][1]


def test_as_printed_the_construction_is_off_by_one() -> None:
    """The query at p must look at p + 1 - i; looking at p - i, as printed, gives another law."""
    task = build_task(TASKS["uniform"], 0)
    sequences = sample(task, 20, np.random.default_rng(0))
    shifted = [[lag + 1 for lag in group] for group in task.lags]
    decoder = construct(task.features, shifted, task.alpha, positions=sequences.shape[1] - 1, sharpness=40.0)
    logits, _ = decoder(torch.from_numpy(sequences[:, :-1]), task.config.T)
    assert np.abs(logits.log_softmax(-1).detach().numpy() - log_probabilities(task, sequences)).max() > 1.0
