"""Each kind trains for a few steps, repeats itself, and is watchable; its explicit attention is what the watch sees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from headwise.core.errors import ConfigError
from headwise.zoo.__main__ import main
from headwise.zoo.kinds import MODULES, find_kind
from headwise.zoo.looks import look_steps
from headwise.zoo.loop import run
from headwise.zoo.models.shown import ShowsAttention
from headwise.zoo.stored import complete_runs, read_run, write_run
from headwise.zoo.train import planned


def need_library_of(name: str) -> None:
    """Kinds that are models of Hugging Face need their library."""
    if name in ("bert", "gpt2_repeats"):
        pytest.importorskip("transformers")


@pytest.mark.parametrize("name", MODULES)
def test_a_kind_trains_and_the_watch_sees_its_explicit_attention(name: str) -> None:
    from headwise import watch

    need_library_of(name)
    kind = find_kind(name)
    setting, seed = kind.plan("held-out")[0]
    stored = run(kind, setting, seed, steps=3)
    assert np.isfinite(stored.train_loss).all()
    assert len(stored.train_loss) == 3
    assert list(stored.looks) == [0, 1, 2, 3]
    model = kind.make(setting, seed).model
    assert isinstance(model, ShowsAttention)
    model.eval()
    tokens = torch.as_tensor(stored.tokens)
    with watch(getattr(model, "watched", model), tokens=tokens, induction="off") as watched:
        pass
    seen = watched.trajectory["attention_by_lag"].isel(step=0)
    for block, weights in enumerate(model.attention(tokens)):
        for lag in seen["lag"].values:
            expected = (
                weights.double().diagonal(offset=1 - int(lag), dim1=-2, dim2=-1).sum(-1).mean(0) / weights.shape[-1]
            )
            np.testing.assert_allclose(seen.isel(block=block).sel(lag=lag).values, expected.detach(), atol=1e-5)


@pytest.mark.parametrize("name", ["lags_competing", "paper_full", "random_walk", "repeats_varied", "bert"])
def test_a_run_is_a_function_of_setting_and_seed(name: str) -> None:
    need_library_of(name)
    kind = find_kind(name)
    setting, seed = kind.plan("development")[0]
    first, second = (run(kind, setting, seed, steps=4) for _ in range(2))
    for key, value in first.weights.items():
        np.testing.assert_array_equal(value, second.weights[key])
    np.testing.assert_array_equal(first.train_loss, second.train_loss)


def test_explicit_and_fused_attention_give_the_same_logits() -> None:
    for name in ("lags_competing", "paper_minimal", "repeats_varied"):
        kind = find_kind(name)
        model = kind.make(*kind.plan("development")[0]).model
        tokens = torch.randint(8, (3, 9), generator=torch.Generator().manual_seed(0))
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)), alpha=0.3)
            explicit, fused = model.train()(tokens), model.eval()(tokens)
        torch.testing.assert_close(explicit, fused, atol=1e-5, rtol=1e-5)


def test_parts_differ_in_settings_and_seeds() -> None:
    for name in MODULES:
        kind = find_kind(name)
        assert not {seed for _, seed in kind.plan("development")} & {seed for _, seed in kind.plan("held-out")}
        assert not any(one == other for one in kind.development for other in kind.held_out)
    assert len(set(planned("held-out"))) == len(planned("held-out"))


def test_a_stored_run_is_read_back(tmp_path: Path) -> None:
    kind = find_kind("one_lag")
    stored = run(kind, *kind.plan("development")[0], steps=2)
    mark = write_run(tmp_path, stored)
    again = read_run(mark)
    assert complete_runs(tmp_path) == [mark]
    assert (again.kind, again.setting, again.seed) == (stored.kind, stored.setting, stored.seed)
    np.testing.assert_array_equal(again.weights["scores"], stored.weights["scores"])
    mark.with_suffix(".safetensors").unlink()
    with pytest.raises(ConfigError, match="train it again"):
        read_run(mark)


def test_looks_are_about_seventy_and_include_both_ends() -> None:
    for steps in (250, 400, 700, 800):
        looks = look_steps(steps)
        assert looks[0] == 0
        assert looks[-1] == steps
        assert 55 <= len(looks) <= 100
        assert looks == sorted(set(looks))


def test_an_unknown_kind_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["train", "--kinds", "dragons", "--out", str(tmp_path)]) == 2
    assert "kind = 'dragons' is not in the zoo" in capsys.readouterr().err
