"""Trajectories of watched models from formulas: heads that take up a lag or induction at known steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from headwise.core.trajectory import assemble, head_overlap
from headwise.view.report import Member

ROLES = ("self", "previous", "first", "window", "induction", "duplicate", "diffuse")
INDUCTION, PREVIOUS, LAG = "induction", "previous", 7
LENGTH = 64
EVEN = np.array([sum(1 / n for n in range(lag, LENGTH + 1)) / LENGTH for lag in range(1, LENGTH + 1)])
"""Share of each lag under even attention over queries 1 to 64."""


def taken_up(block: int, head: int) -> tuple[str, float] | None:
    """Which role a head has in the end and the step at which it is half way there; None for most."""
    return {
        (0, 0): (PREVIOUS, 300.0),
        (0, 1): (f"lag {LAG}", 420.0),
        (1, 0): (INDUCTION, 600.0),
        (1, 1): (INDUCTION, 640.0),
    }.get((block, head))


def example_maps(times: np.ndarray, *, blocks: int, heads: int, examples: int, length: int) -> np.ndarray:
    """Attention that is spread at first and moves to a lag of each head's own, in multiples of 1/1024 as a watch keeps
    it: (look, example, block, head, query, key).
    """
    random = np.random.default_rng(1)
    logits = random.standard_normal((examples, blocks, heads, length, length))
    logits[..., np.triu_indices(length, k=1)[0], np.triu_indices(length, k=1)[1]] = -np.inf
    spread = np.exp(logits)
    spread /= spread.sum(-1, keepdims=True)
    target = np.zeros((blocks, heads, length, length))
    for block, head in np.ndindex(blocks, heads):
        back = (block + head) % 5
        for query in range(length):
            target[block, head, query, max(0, query - back)] = 1
    part = (0.9 / (1 + np.exp(-(times - 500) / 60)))[:, None, None, None, None, None]
    return (np.round(((1 - part) * spread + part * target) * 1024) / 1024).astype(np.float32)


def watched_trajectory(
    *,
    blocks: int = 2,
    heads: int = 4,
    looks: int = 41,
    steps: int = 1000,
    predictors: bool = True,
    tokens: Sequence[Sequence[str]] | None = None,
    importance: int | None = None,
) -> xr.Dataset:
    """Everything that a watch records, with the noise of a batch of 16 sequences.

    `importance`: at every so many looks, counted from the last one; it rises with the largest role score of a head.
    """
    random = np.random.default_rng(0)
    times = np.linspace(0, steps, looks).round() if looks > 1 else np.array([float(steps)])
    lags = np.arange(1, LENGTH + 1)
    shares = np.empty((looks, blocks, heads, LENGTH))
    scores = 0.02 * random.standard_normal((looks, blocks, heads, len(ROLES)))
    chance = np.full_like(scores, 0.05)
    for block in range(blocks):
        for head in range(heads):
            role, at = taken_up(block, head) or ("", 0.0)
            risen = 0.9 / (1 + np.exp(-(times - at) / 15)) if role else np.zeros(looks)
            target = np.zeros(LENGTH)
            if role in (PREVIOUS, f"lag {LAG}"):
                target[(2 if role == PREVIOUS else LAG) - 1] = 1.0
                shares[:, block, head] = (1 - risen)[:, None] * EVEN + risen[:, None] * target
            else:
                shares[:, block, head] = EVEN
            if role in ROLES:
                scores[:, block, head, ROLES.index(role)] += risen
    shares *= 1 + 0.01 * random.standard_normal(shares.shape)
    shares /= shares.sum(-1, keepdims=True)
    loss = 1.0 + 2.0 / (1 + np.exp((times - 310) / 15)) + 1.0 / (1 + np.exp((times - 610) / 15))
    noisy = loss[:, None] + 0.01 * random.standard_normal((looks, 2))
    pairs = random.standard_normal((looks, blocks, heads, 3))
    writes = np.einsum("lbhx,lbgx->lbhg", pairs, pairs)
    size = np.sqrt(np.einsum("lbhh->lbh", writes))
    variables: dict[str, Any] = {
        "attention_by_lag": shares,
        "attention_entropy": -(shares * np.log(shares)).sum(-1),
        "attention_concentration": (shares**2).sum(-1),
        "attention_on": np.zeros((looks, blocks, heads, 4)),
        "head_overlap": head_overlap(shares),
        "write_alignment": writes / size[..., :, None] / size[..., None, :],
        "lag_chance": np.tile(EVEN, (looks, 1)),
        "lag_error": np.full_like(shares, 0.002),
        "role_score": scores,
        "role_chance": chance,
        "role_fold": np.repeat(scores[:, None], 4, axis=1),
        "loss": noisy,
        "loss_spread": np.full((looks, 2), 0.2),
        "loss_count": np.full((looks, 2), 16.0),
        "loss_time": np.repeat(times[:, None], 2, axis=1),
    }
    if importance is not None:
        measured = np.isin(np.arange(looks), np.arange(looks - 1, -1, -importance))[:, None, None]
        rise = np.where(measured, scores.max(-1) + 0.5 * (shares.max(-1) > 0.5), np.nan)
        together = np.where(np.eye(heads, dtype=bool), np.nan, 0.4 * rise[..., None] * rise[..., None, :])
        variables |= {
            "head_importance": rise,
            "head_importance_zero": 1.1 * rise,
            "head_importance_error": 0.01 + 0 * rise,
            "pair_redundancy": together,
            "pair_redundancy_error": 0.01 + 0 * together,
        }
    coordinates: dict[str, Any] = {
        "step": times,
        "lag": lags,
        "place": ["self", "previous", "first", "induction"],
        "role": list(ROLES),
        "split": ["look", "train"],
    }
    if predictors:
        variables["kl"] = np.stack([np.abs(loss - level) + 0.1 for level in (3.5, 2.0, 1.0)], axis=1)
        coordinates["predictor"] = ["unigram", "bigram", "trigram"]
    words = [[f" w{n}" for n in range(20)], [f" v{n}" for n in range(14)]] if tokens is None else tokens
    length = max(map(len, words), default=0)
    if words:
        snapshots = times[np.linspace(0, looks - 1, min(looks, 12)).astype(int)]
        maps = example_maps(snapshots, blocks=blocks, heads=heads, examples=len(words), length=length)
        for index, sentence in enumerate(words):
            maps[:, index, :, :, len(sentence) :] = np.nan
            maps[:, index, ..., len(sentence) :] = np.nan
        variables["example_attention"] = maps
        coordinates |= {"snapshot": snapshots, "query": range(1, length + 1), "key": range(1, length + 1)}
    attributes = {
        "examples": [{"sequence": n + 1, "ids": list(range(len(w))), "tokens": list(w)} for n, w in enumerate(words)],
        "source": "probe",
        "adapter": "hugging_face",
        "model": "GPT2LMHeadModel",
        "layers": [f"transformer.h.{block}.attn" for block in range(blocks)],
        "notes": [],
        "shown": {"sequences": 16, "positions": LENGTH, "different_tokens": 50},
        "role_queries": dict.fromkeys(ROLES, 900),
        "every": 5,
    }
    return assemble(variables, coordinates, attributes)


def without_heads(trajectory: xr.Dataset, counts: tuple[int, ...]) -> xr.Dataset:
    """The trajectory as it is of a model whose blocks have so many heads, the first ones of each."""
    number = np.arange(trajectory.sizes["head"])
    has = xr.DataArray(number < np.array(counts)[:, None], dims=("block", "head"))
    both = has & has.rename(head="head2")
    kept = {
        name: values.where(both if "head2" in values.dims else has).transpose(*values.dims)
        for name, values in trajectory.data_vars.items()
        if "head" in values.dims
    }
    return trajectory.assign(kept).assign_attrs(heads_by_block=json.dumps(list(counts)))


def watched_member(label: str = "made from formulas", **shape: Any) -> Member:
    """A watch as it comes back from its run directory."""
    config = {"source": "watch", "label": label, "model": "GPT2LMHeadModel", "seed": 0}
    return Member(watched_trajectory(**shape), "0123abcd-s0", seed=0, config=config)
