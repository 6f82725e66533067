"""A stored run shown to the public watch gives what a live watch of the same training would have seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from headwise.zoo.kinds import find_kind
from headwise.zoo.loop import run
from headwise.zoo.replay import replay, replayed
from headwise.zoo.score import score_run
from headwise.zoo.stored import write_run
from headwise.zoo.truth.event import WHATS
from headwise.zoo.truth.shares import measure_shares

STEPS = 12


def test_a_replay_has_the_looks_losses_and_attention_of_the_run(tmp_path: Path) -> None:
    kind = find_kind("lags_competing")
    setting, seed = kind.plan("development")[0]
    stored = run(kind, setting, seed, steps=STEPS)
    trajectory = replay(stored).trajectory
    np.testing.assert_array_equal(trajectory["step"], stored.looks)
    loss = trajectory["loss"].sel(split="validation")
    np.testing.assert_allclose(loss, stored.validation_loss, rtol=1e-6)
    last = trajectory["loss"].sel(split="train").values[-1]
    assert last == np.float64(stored.train_loss[stored.looks[-2] : stored.looks[-1]].mean()).astype(last.dtype)
    model = kind.make(setting, seed).model
    shares = measure_shares(stored, model)
    chance = np.array([sum(1 / n for n in range(int(lag), 17)) / 16 for lag in trajectory["lag"].values])
    seen = trajectory["attention_by_lag"].values
    own = shares.excess_TNHL[..., -len(chance) :]
    np.testing.assert_allclose((seen - chance) / (1 - chance), own, atol=1e-6)
    mark = write_run(tmp_path, stored)
    kept, again = replayed(mark), replayed(mark)
    assert kept.identical(again)
    np.testing.assert_allclose(kept["attention_by_lag"], trajectory["attention_by_lag"], rtol=1e-12)
    assert len(list((tmp_path / "trajectories").iterdir())) == 1
    assert set(score_run(mark).counts) == set(WHATS)


def test_the_model_of_a_replay_ends_with_the_last_weights() -> None:
    kind = find_kind("one_lag")
    stored = run(kind, *kind.plan("development")[0], steps=4)
    watched = replay(stored)
    last = torch.from_numpy(stored.weights["scores"][-1])
    torch.testing.assert_close(watched.model.scores.detach(), last)
