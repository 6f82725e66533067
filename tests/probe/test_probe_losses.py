"""Losses of a watch: that of its own batch against torch's, means over steps, validation, automatic looks."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tests.conftest import tiny
from torch import Tensor, nn
from torch.nn import functional

from headwise.core.errors import ConfigError
from headwise.probe import watch
from headwise.probe.schedule import WhereItChanges
from headwise.probe.training_loss import TrainingLosses
from headwise.study.prepared_run import PreparedRun


class Causal(nn.Module):
    """Tokens in, logits out, attention by torch's function."""

    def __init__(self, vocabulary: int = 12, *, reads: int | None = None) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(vocabulary, 16)
        self.read = nn.Linear(16, reads or vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens).unflatten(-1, (2, 8)).transpose(1, 2)
        mixed = functional.scaled_dot_product_attention(x, x, x, is_causal=True)
        return self.read(mixed.transpose(1, 2).flatten(2))


def tokens_of(rows: int = 5, length: int = 9, vocabulary: int = 12) -> Tensor:
    return torch.randint(0, vocabulary, (rows, length), generator=torch.Generator().manual_seed(1))


def test_the_loss_of_a_look_is_torchs_cross_entropy_of_the_next_token() -> None:
    model, tokens = Causal(), tokens_of()
    with watch(model, tokens=tokens, queries=6) as last, watch(model, tokens=tokens) as w:
        pass
    with torch.no_grad():
        each = functional.cross_entropy(model(tokens)[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    found = w.trajectory.isel(step=0).sel(split="look")
    assert float(found["loss"]) == pytest.approx(float(each.mean()), abs=1e-6)
    assert float(found["loss_spread"]) == pytest.approx(float(each.mean(1).std()), abs=1e-6)
    assert (int(found["loss_count"]), float(found["loss_time"])) == (5, 0.0)
    assert w.trajectory["split"].values.tolist() == ["look"], "what was not measured is not there"
    assert float(last.trajectory["loss"][0, 0]) == pytest.approx(float(each[:, -5:].mean()), abs=1e-6)


def test_hidden_states_are_no_logits() -> None:
    for model in (Causal(reads=16), lambda tokens: torch.eye(9).expand(5, 2, 9, 9)):
        with watch(model, tokens=tokens_of()) as w:
            pass
        assert "loss" not in w.trajectory


def test_our_own_decoder_has_its_loss() -> None:
    prepared = PreparedRun(tiny(name="minimal"), {})
    decoder, inputs = prepared.engine.decoder, prepared.evaluator.test.inputs
    with watch(decoder, tokens=inputs) as w:
        pass
    with torch.no_grad():
        logits = decoder(inputs, decoder.positions)[0]
    expected = functional.cross_entropy(logits[:, :-1].transpose(1, 2), inputs[:, 1:].long())
    assert float(w.trajectory["loss"][0, 0]) == pytest.approx(float(expected), abs=1e-5)


def test_training_losses_are_averaged_and_dated_at_the_middle() -> None:
    losses = [torch.tensor(float(number**2), requires_grad=True) for number in range(10)]
    with watch(Causal(), tokens=tokens_of(), every=4) as w:
        for loss in losses:
            w.step(loss)
            with torch.no_grad():
                loss.zero_()
    found = w.trajectory.sel(split="train")
    assert found["step"].values.tolist() == [0, 4, 8, 10]
    for at, part in ((1, range(4)), (2, range(4, 8)), (3, range(8, 10))):
        values = np.array([number**2 for number in part], dtype=float)
        assert float(found["loss"][at]) == pytest.approx(values.mean())
        assert float(found["loss_spread"][at]) == pytest.approx(values.std(ddof=1))
        assert int(found["loss_count"][at]) == len(values)
    assert found["loss_time"].values[1:].tolist() == [2, 6, 9]
    for name in ("loss", "loss_spread", "loss_time"):
        assert math.isnan(found[name][0]), "before the first step there is none"
    assert float(found["loss_count"][0]) == 0


def test_a_step_does_not_read_its_loss() -> None:
    """Reading would wait for the device: a loss on the meta device cannot be read at all."""
    losses = TrainingLosses()
    for _ in range(3000):
        losses.add(torch.ones((), device="meta"))
    assert len(losses._joined) == 2
    with pytest.raises(ConfigError, match="one number"):
        losses.add(torch.zeros(3))


def test_losses_of_several_kinds_are_one_mean() -> None:
    losses = TrainingLosses()
    for loss in (1.0, torch.tensor(2.0), np.float32(3), torch.tensor(4.0, dtype=torch.bfloat16), math.nan):
        losses.add(loss)
    value = losses.take(start=10, end=20)
    assert (value.mean, value.count, value.time) == (2.5, 4, 15)
    assert math.isnan(losses.take(start=20, end=30).mean), "taken once"


def test_validation_is_a_batch_or_a_function() -> None:
    model, others = Causal(), tokens_of(3, 7)
    with torch.no_grad():
        expected = functional.cross_entropy(model(others)[:, :-1].transpose(1, 2), others[:, 1:])
    modes = []

    def validate(module: nn.Module) -> Tensor:
        modes.append((module.training, torch.is_grad_enabled()))
        return torch.tensor(2.5)

    model.train()
    with (
        watch(model, tokens=tokens_of(), validation=others) as w,
        watch(model, tokens=tokens_of(), validation=validate) as f,
    ):
        pass
    assert w.trajectory["split"].values.tolist() == ["look", "validation"]
    assert float(w.trajectory["loss"].sel(split="validation")[0]) == pytest.approx(float(expected), abs=1e-6)
    assert float(f.trajectory["loss"].sel(split="validation")[0]) == 2.5
    assert modes == [(False, False)]
    assert model.training


@pytest.mark.parametrize(
    ("model", "validation", "words"),
    [(Causal(reads=16), tokens_of(), "cannot be had"), (Causal(), lambda model: None, "not a number")],
)
def test_validation_that_gives_no_loss_is_an_error(model: nn.Module, validation: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words), watch(model, tokens=tokens_of(), validation=validation):
        pass


def test_looks_at_chosen_steps() -> None:
    with watch(Causal(), tokens=tokens_of(), every=[1, 2, 5]) as w:
        for _ in range(7):
            w.step()
    assert w.trajectory["step"].values.tolist() == [0, 1, 2, 5, 7]
    for wrong in ([], "often", [1.5], 0, True):
        with pytest.raises(ConfigError, match="every"):
            watch(Causal(), tokens=tokens_of(), every=wrong)


def test_automatic_looks_are_geometric_and_denser_where_something_changes() -> None:
    schedule, looks = WhereItChanges(), []
    for step in range(3000):
        if schedule.due(step):
            share = 1 / (1 + math.exp(-(step - 1000) / 30))
            record = {"attention_by_lag": np.array([[[share, 1 - share]]]), "role_score": np.zeros((1, 1, 1))}
            schedule.looked(step, record, math.nan)
            looks.append(step)
    gaps = np.diff(looks)
    assert looks[:12] == list(range(12))
    assert all(max(1, a // 100) <= gap <= max(1, a // 10) for a, gap in zip(looks, gaps, strict=False))
    quiet = [gap / a for a, gap in zip(looks, gaps, strict=False) if 100 < a < 700]
    busy = [gap / a for a, gap in zip(looks, gaps, strict=False) if 980 < a < 1060]
    assert np.median(quiet) > 0.08
    assert np.median(busy) < 0.03
    assert len(looks) < 120
