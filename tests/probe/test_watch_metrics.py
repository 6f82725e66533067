"""Metrics and hooks of one's own in `watch`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import headwise
from headwise.core.errors import ConfigError
from headwise.probe.live import Watch

TOKENS = torch.randn(3, 6, 8, generator=torch.Generator().manual_seed(0))


def watched(**options: object) -> Watch:
    torch.manual_seed(0)
    model = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    w = headwise.watch(model, tokens=TOKENS, every=2, **options)  # type: ignore[arg-type]
    with w:
        for _ in range(4):
            loss = model(TOKENS).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            w.step(loss)
    return w


def norm(look: headwise.Look) -> torch.Tensor:
    return torch.cat([p.flatten() for p in look.model.parameters()]).norm()


def mode(look: headwise.Look) -> float:
    return float(look.model.training or torch.is_grad_enabled())


def test_metrics_and_hook_in_a_watch(tmp_path: Path) -> None:
    looks: list[tuple[int, float]] = []
    norms: list[float] = []

    def hook(look: headwise.Look) -> None:
        looks.append((look.step, look.numbers()["metrics/norm"]))
        norms.append(norm(look).item())
        assert look.model.training, "the hook sees the model as training left it"
        assert look.tokens.shape == TOKENS.shape

    w = watched(metrics={"norm": norm, "mode": mode}, on_look=hook)
    found = w.trajectory
    assert [step for step, _ in looks] == found["step"].values.tolist() == [0, 2, 4]
    assert np.allclose([value for _, value in looks], norms)
    assert found["metrics"].sel(metric="mode").values.tolist() == [0, 0, 0], "evaluation mode, no gradients"
    plain = watched().trajectory
    assert found.drop_vars(["metrics", "metric"]).equals(plain), "they change nothing"
    loaded = headwise.load(w.save(tmp_path))
    assert loaded["metrics"].equals(found["metrics"])
    w.page(tmp_path / "x.html")
    assert "Own metrics" in (tmp_path / "x.html").read_text()


def test_losses_are_handed_out_by_the_data_they_are_of() -> None:
    given: list[dict[str, float]] = []
    watched(on_look=lambda look: given.append(look.numbers()))
    assert "loss/train" not in given[0], "no step yet"
    assert given[1]["loss/train"] > 0


def test_what_was_seen_before_an_error_is_kept() -> None:
    def late(look: headwise.Look) -> float:
        if look.step == 4:
            raise RuntimeError("too late")
        return 1.0

    model = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True)
    w = headwise.watch(model, tokens=TOKENS, every=2, metrics={"late": late})
    with pytest.raises(ConfigError, match="'late' failed at step 4: RuntimeError: too late"):
        _four_steps(w)
    assert w.trajectory["step"].values.tolist() == [0, 2]
    assert w.trajectory["loss"].sel(split="train").values[1] == 1.0


def _four_steps(w: Watch) -> None:
    with w:
        for _ in range(4):
            w.step(1.0)


def test_wrong_options_are_refused_before_training() -> None:
    model = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True)
    with pytest.raises(ConfigError, match="metrics are functions by name"):
        headwise.watch(model, tokens=TOKENS, metrics=[norm])  # type: ignore[arg-type]
