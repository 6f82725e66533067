"""Trajectories of every shape a page may meet, made from formulas: heads that move from group to group.

`published_like` has the sizes of the published minimal run; its heads leave at known steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from headwise.core.trajectory import assemble, attention_by_group, head_overlap
from headwise.view.report import Member

LEAVES = {1: 330.0, 2: 540.0}
"""Head (from 0) and the step at which it is half way from I(1) to its own group."""


def trajectory(
    *,
    heads: int = 3,
    blocks: int = 1,
    evaluations: int = 101,
    snapshots: int = 21,
    steps: int = 1000,
    groups: Sequence[Sequence[int]] | None = ((1, 2), (3, 4), (5, 6)),
    seed: int = 0,
    labels: Sequence[str] = ("prefix_1", "prefix_2", "prefix_3"),
    attributes: dict[str, Any] | None = None,
) -> xr.Dataset:
    """All variables, with heads 2 and 3 leaving I(1) at `LEAVES` and noise that depends on the seed."""
    random = np.random.default_rng(seed)
    queries, keys = np.arange(6, 26), np.arange(1, 26)
    lags = np.arange(1, 26)
    patterns = [[1, 2], [3, 4], [5, 6]]
    weights = np.full((4, 25), 0.02)
    for row, pattern in enumerate(patterns):
        weights[row, [lag - 1 for lag in pattern]] = 1.0
    weights[3] = 1.0
    weights /= weights.sum(1, keepdims=True)

    def by_lag(times: np.ndarray) -> np.ndarray:
        early = 1 / (1 + np.exp((times - 50) / 8))
        out = np.empty((len(times), blocks, heads, 25))
        for b in range(blocks):
            for k in range(heads):
                target = k % 3
                gone = 1 / (1 + np.exp(-(times - LEAVES.get(target, 5000.0) - 20 * b - 5 * seed) / 12))
                late = (1 - gone)[:, None] * weights[0] + gone[:, None] * weights[target]
                out[:, b, k] = early[:, None] * weights[3] + (1 - early)[:, None] * late
        out *= 1 + 0.01 * random.standard_normal(out.shape)
        return out / out.sum(-1, keepdims=True)

    times = np.linspace(0, steps, evaluations).round() if evaluations > 1 else np.array([float(steps)])
    moments = np.linspace(0, steps, snapshots).round() if snapshots > 1 else np.array([float(steps)])
    shares = by_lag(times)
    lag_of = queries[:, None] + 1 - keys[None, :]
    seen = lag_of >= 1
    maps = np.where(seen, by_lag(moments)[..., np.clip(lag_of, 1, 25) - 1], 0.0)
    maps *= np.where(seen, 1 + 0.05 * random.standard_normal(maps.shape), 0.0)
    maps = (maps / maps.sum(-1, keepdims=True)).astype(np.float32)
    excess = (
        0.1
        + 2.2 / (1 + np.exp((times - 20) / 8))
        + 0.7 / (1 + np.exp((times - 340) / 10))
        + 0.3 / (1 + np.exp((times - 550) / 10))
    )
    kl = np.stack([np.abs(excess - level) + 0.1 for level in (1.1, 0.4, 0.1)], axis=1)[:, : len(labels)]
    grouped = attention_by_group(shares, lags.tolist(), patterns)
    variables = {
        "excess_loss": excess,
        "loss": np.stack([excess + 0.5, excess + 0.6], axis=1),
        "kl": kl,
        "kl_reverse": 1.3 * kl,
        "attention_by_lag": shares,
        "attention_by_group": grouped,
        "attention_entropy": -(shares * np.log(shares)).sum(-1),
        "attention_map": maps,
        "value_alignment": 40 * grouped - 5,
        "value_cosine": grouped - 0.1,
        "value_coefficient": 100 * grouped - 10,
        "head_overlap": head_overlap(shares),
        "learning_rate": np.full(len(times), 0.08),
    }
    coordinates = {
        "step": times,
        "snapshot": moments,
        "lag": lags,
        "query": queries,
        "key": keys,
        "predictor": list(labels),
        "split": ["train", "test"],
    }
    about: dict[str, Any] = {"source": "training", "experiment": "minimal", "preset": "published", "seed": seed}
    if groups is not None:
        about["groups"] = [list(group) for group in groups]
    return assemble(variables, coordinates, {**about, **(attributes or {})})


def member(seed: int = 0, config: dict[str, Any] | None = None, **shape: Any) -> Member:
    """A run with a config, as the store would give it."""
    settings = {"experiment": "minimal", "preset": "published", "seed": seed, "task": {"m": 1.7}, **(config or {})}
    manifest = {
        "argv": ["/somewhere/bin/headwise", "train", "minimal", "--seed", str(seed)],
        "commit": "0123abc",
        "versions": {"headwise": "0.1.0", "numpy": "2.4.6"},
        "status": "finished",
    }
    return Member(trajectory(seed=seed, **shape), f"0ea5daec-s{seed}", seed=seed, config=settings, manifest=manifest)


def without(run: Member, *names: str) -> Member:
    """The run, had it not kept these variables."""
    return Member(
        run.trajectory.drop_vars(list(names)),
        run.label,
        seed=run.seed,
        status=run.status,
        config=run.config,
        manifest=run.manifest,
    )
