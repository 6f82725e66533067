"""Head importance of our own decoder against the decoder itself, run again with a head's output replaced by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch import Tensor

from headwise.core.errors import ConfigError
from headwise.measure.ablations import (
    Ablation,
    ablations,
    check_importance,
    cost_text,
    rise,
    when_text,
)
from headwise.measure.config import MeasureConfig, Schedule
from headwise.measure.importance import decoder_importance
from headwise.model.config import FULL_PUBLISHED, ModelConfig
from headwise.model.decoder import Attention, Decoder
from headwise.model.initialise import initialise
from headwise.model.input_rows import InputRows, input_rows

MODELS = {
    "minimal": ModelConfig(),
    "full": FULL_PUBLISHED.changed({"width": 12, "mlp": 16}),
    "three blocks": FULL_PUBLISHED.changed({"width": 12, "mlp": 16, "blocks": 3, "norm": "pre"}),
    "windows": ModelConfig(window=4),
}


def model_and_rows(name: str) -> tuple[Decoder, InputRows]:
    config = MODELS[name]
    rows = input_rows(torch.randint(7, (9, 12), generator=torch.Generator().manual_seed(0)), config, predicted=6)
    decoder = Decoder(config, dictionary=7, positions=rows.inputs.shape[1]).double()
    initialise(decoder, 0)
    with torch.no_grad():
        for index, parameter in enumerate(decoder.parameters()):  # away from the symmetric start, where heads are equal
            noise = torch.Generator().manual_seed(index)
            parameter += 0.3 * torch.randn(parameter.shape, dtype=parameter.dtype, generator=noise)
    return decoder, rows


@contextmanager
def heads_replaced(outputs: dict[tuple[int, int], Tensor], kept: dict[tuple[int, int], Tensor]) -> Iterator[None]:
    """The attention's own code for one head, with the output of some heads replaced before the output matrix."""
    own = Attention.written_by

    def written_by(self: Attention, head: int, x_BSD: Tensor, used_BQS: Tensor) -> Tensor:
        z = used_BQS @ (x_BSD @ self.value_HED[head].T)
        if self.config.attention_bias == "on":
            z = z + self.value_bias_HE[head]
        kept[self.block, head] = z
        if (self.block, head) in outputs:
            z = outputs[self.block, head].expand(z.shape)
        return z @ self.output_OHE[:, head].T if self.config.output == "on" else z

    Attention.written_by = written_by  # type: ignore[method-assign]
    try:
        yield
    finally:
        Attention.written_by = own  # type: ignore[method-assign]


def direct_losses(decoder: Decoder, rows: InputRows, outputs: dict[tuple[int, int], Tensor]) -> np.ndarray:
    """Mean loss of each row, with these outputs of heads."""
    with heads_replaced(outputs, {}), torch.no_grad():
        logits, _ = decoder(rows.inputs, rows.counted)
    log = logits.log_softmax(-1).gather(-1, rows.targets[..., None])[..., 0]
    return np.asarray(-log.mean(1).numpy())


@pytest.mark.parametrize("name", MODELS)
def test_importance_is_the_loss_of_the_decoder_with_a_head_replaced(name: str) -> None:
    decoder, rows = model_and_rows(name)
    before = {key: value.clone() for key, value in decoder.state_dict().items()}
    state = torch.random.get_rng_state()
    found = decoder_importance(decoder, rows, of="pairs")
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(torch.equal(before[key], value) for key, value in decoder.state_dict().items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in decoder.modules())

    outputs: dict[tuple[int, int], Tensor] = {}
    with heads_replaced({}, outputs), torch.no_grad():
        decoder(rows.inputs, rows.counted)
    mean = {place: z[:, -rows.counted :].mean((0, 1)) for place, z in outputs.items()}
    whole = direct_losses(decoder, rows, {})
    count = np.sqrt(len(whole))
    heads = decoder.config.heads
    assert found["head_importance"].shape == (len(decoder.layers), heads)
    for place, value in mean.items():
        without = direct_losses(decoder, rows, {place: value}) - whole
        zero = direct_losses(decoder, rows, {place: torch.zeros_like(value)}) - whole
        assert found["head_importance"][place] == pytest.approx(without.mean(), abs=1e-12)
        assert found["head_importance_error"][place] == pytest.approx(without.std(ddof=1) / count, abs=1e-12)
        assert found["head_importance_zero"][place] == pytest.approx(zero.mean(), abs=1e-12)
    for block in range(len(decoder.layers)):
        for a in range(heads):
            assert np.isnan(found["pair_redundancy"][block, a, a])
            for b in range(heads):
                if a == b:
                    continue
                one, other = (direct_losses(decoder, rows, {(block, h): mean[block, h]}) - whole for h in (a, b))
                both = direct_losses(decoder, rows, {(block, h): mean[block, h] for h in (a, b)}) - whole
                more = both - one - other
                assert found["pair_redundancy"][block, a, b] == pytest.approx(more.mean(), abs=1e-12)
                assert found["pair_redundancy_error"][block, a, b] == pytest.approx(more.std(ddof=1) / count, abs=1e-12)


def test_importance_does_not_depend_on_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, rows = model_and_rows("full")
    whole = decoder_importance(decoder, rows, of="pairs")
    monkeypatch.setattr("headwise.measure.importance.ROWS_AT_A_TIME", 4)
    for name, values in decoder_importance(decoder, rows, of="pairs").items():
        np.testing.assert_allclose(values, whole[name], atol=1e-12)


def test_the_error_of_a_rise_is_that_of_a_ratio() -> None:
    """Against many redrawn batches of sequences of different lengths."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 9, size=(4000, 30)).astype(float)
    change = 0.7 * counts + rng.normal(size=counts.shape) * np.sqrt(counts)
    found = np.array([rise(one, count) for one, count in zip(change, counts, strict=True)])
    assert found[:, 0].mean() == pytest.approx(0.7, abs=0.01)
    assert found[:, 1].mean() == pytest.approx(found[:, 0].std(), rel=0.05)
    assert np.isnan(rise(np.ones(1), np.ones(1))[1])
    assert np.isnan(rise(np.zeros(2), np.zeros(2))).all()


def test_what_is_taken_out_and_what_it_costs() -> None:
    single = set(ablations([3, 3], "heads"))
    assert single == {Ablation(b, (h,), by) for b in range(2) for h in range(3) for by in ("mean", "zero")}
    pairs = set(ablations([3, 3], "pairs")) - single
    assert pairs == {Ablation(b, pair, "mean") for b in range(2) for pair in ((0, 1), (0, 2), (1, 2))}
    assert cost_text([3, 3], "pairs").startswith(f"{1 + len(single) + len(pairs)} forward passes")
    assert [when_text(n, "look") for n in ("last", 1, 2, 11, 23)] == [
        "at the last look",
        "at every look",
        "at every 2nd look and the last one",
        "at every 11th look and the last one",
        "at every 23rd look and the last one",
    ]


@pytest.mark.parametrize(
    ("importance", "of", "named"),
    [(0, "heads", "importance = 0"), (True, "heads", "importance"), ("first", "heads", "'first'"),
     (1, "triples", "importance_of"), (None, "pairs", "needs importance")],
)  # fmt: skip
def test_mistakes_are_named(importance: object, of: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        check_importance(importance, of)


def test_when_a_run_measures_it() -> None:
    at = Schedule(every=10)
    assert MeasureConfig(at=at).importance_steps(45) == frozenset()
    assert MeasureConfig(at=at, importance=2).importance_steps(45) == {0, 20, 40, 45}
    assert MeasureConfig(at=at, importance="last").importance_steps(45) == {45}
    with pytest.raises(ConfigError, match=r"measure\.importance_of"):
        MeasureConfig(at=at, importance_of="pairs")
