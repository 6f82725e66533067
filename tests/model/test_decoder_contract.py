"""What every model of the ladder keeps, whichever components it has."""

from __future__ import annotations

import itertools

import pytest
import torch

from headwise.core.config import validated
from headwise.model.config import FULL_PUBLISHED, FULL_TEXT, MINIMAL_PUBLISHED, DropoutConfig, ModelConfig
from headwise.model.decoder import Decoder
from headwise.model.dropout import DropoutMasks
from headwise.model.initialise import initialise
from headwise.model.input_rows import input_rows

SMALL = {"width": 12, "dropout": DropoutConfig()}


def ladder() -> dict[str, ModelConfig]:
    """Each component alone taken from the full model or put into the minimal one, and combinations."""
    full, minimal = FULL_PUBLISHED, MINIMAL_PUBLISHED
    found = {
        "full-published": full,
        "full-text": FULL_TEXT,
        "minimal": minimal,
        "no-norm": full.changed({"norm": "none"}),
        "pre-norm": full.changed({"norm": "pre"}),
        "no-residual": full.changed({"residual": "off"}),
        "no-mlp": full.changed({"mlp": 0}),
        "no-output": full.changed({"output": "off"}),
        "merged": full.changed({"score": "merged"}),
        "bare": full.changed({"norm": "none", "residual": "off", "mlp": 0, "output": "off"}),
        "minimal-residual": minimal.changed({"residual": "on"}),
        "minimal-norm": minimal.changed({"norm": "post", "residual": "on"}),
        "minimal-mlp": minimal.changed({"mlp": 8, "residual": "on"}),
        "minimal-product": minimal.changed({"score": "product"}),
        "minimal-output": minimal.changed({"output": "on"}),
        "minimal-unembedding": minimal.changed({"unembedding": "learned"}),
        "minimal-two-blocks": minimal.changed({"blocks": 2, "init": "xavier", "init_values": "xavier"}),
        "full-two-blocks": full.changed({"blocks": 2}),
        "banded": minimal.changed({"context": 3}),
        "one-head": full.changed({"heads": 1}),
        "six-heads": minimal.changed({"heads": 6}),
    }
    for positions, base in itertools.product(("one_hot", "learned", "sinusoidal", "relative"), ("full", "minimal")):
        found[f"{base}-{positions}"] = (full if base == "full" else minimal).changed({"positions": positions})
    return {name: validated(ModelConfig, {**config.model_dump(), **SMALL}) for name, config in found.items()}


LADDER = ladder()


@pytest.fixture(params=list(LADDER))
def decoder(request: pytest.FixtureRequest) -> Decoder:
    torch.manual_seed(0)
    made = Decoder(LADDER[request.param], dictionary=5, positions=8).double()
    initialise(made, 1)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return made


def test_attention_is_causal_and_sums_to_one(decoder: Decoder) -> None:
    tokens = torch.randint(0, 5, (4, 8))
    _, attention = decoder(tokens, 6)
    for a in attention:
        assert torch.allclose(a.sum(-1), torch.ones_like(a.sum(-1)), atol=1e-12)
        queries = torch.arange(8 - a.shape[2], 8)
        assert a[..., torch.arange(8)[None, :] > queries[:, None]].abs().max() == 0


def test_the_future_does_not_matter(decoder: Decoder) -> None:
    tokens = torch.randint(0, 5, (4, 8))
    changed = tokens.clone()
    changed[:, 5:] = (changed[:, 5:] + 1) % 5
    before, after = decoder(tokens, 8)[0][:, :5], decoder(changed, 8)[0][:, :5]
    assert (before - after).abs().max() < 1e-12


def test_counting_fewer_queries_changes_nothing(decoder: Decoder) -> None:
    tokens = torch.randint(0, 5, (4, 8))
    assert (decoder(tokens, 8)[0][:, -3:] - decoder(tokens, 3)[0]).abs().max() < 1e-12


def test_permuting_heads_changes_nothing(decoder: Decoder) -> None:
    tokens = torch.randint(0, 5, (4, 8))
    before = decoder(tokens, 5)[0]
    order = torch.randperm(decoder.config.heads)
    with torch.no_grad():
        for name, parameter in decoder.named_parameters():
            if ".attention." in name and "output_bias" not in name:
                parameter.copy_(parameter[:, order] if "output_OHE" in name else parameter[order])
    assert (decoder(tokens, 5)[0] - before).abs().max() < 1e-12


def test_key_query_symmetry(decoder: Decoder) -> None:
    """(Q, K) to (M^-1 Q, M' K) leaves the scores K'Q unchanged (§2.2)."""
    if decoder.config.score == "merged":
        pytest.skip("the merged matrix is what the symmetry leaves fixed")
    tokens = torch.randint(0, 5, (4, 8))
    before = decoder(tokens, 5)[0]
    attention = decoder.layers[0].attention
    size = attention.query_HED.shape[1]
    mixing = torch.randn(decoder.config.heads, size, size, dtype=torch.float64) + 3 * torch.eye(size)
    with torch.no_grad():
        attention.query_HED.copy_(torch.linalg.solve(mixing, attention.query_HED))
        attention.key_HED.copy_(mixing.transpose(1, 2) @ attention.key_HED)
        if decoder.config.attention_bias == "on":
            attention.query_bias_HE.copy_(torch.linalg.solve(mixing, attention.query_bias_HE))
            attention.key_bias_HE.copy_((mixing.transpose(1, 2) @ attention.key_bias_HE[..., None])[..., 0])
    assert (decoder(tokens, 5)[0] - before).abs().max() < 1e-9


def test_every_parameter_gets_a_gradient(decoder: Decoder) -> None:
    """One that cannot change the output does not belong into the model; exempt are those softmax makes irrelevant."""
    tokens = torch.randint(0, 5, (6, 8))
    decoder(tokens, 8)[0].logsumexp(-1).sum().backward()
    for name, parameter in decoder.named_parameters():
        assert parameter.grad is not None, name
        if "key_bias" not in name:
            assert parameter.grad.abs().max() > 0, name


def test_band_hides_further_lags_and_nothing_else() -> None:
    torch.manual_seed(0)
    wide = LADDER["minimal"]
    decoder = Decoder(wide.changed({"context": 8}), dictionary=5, positions=8).double()
    banded = Decoder(wide.changed({"context": 3}), dictionary=5, positions=8).double()
    with torch.no_grad():
        for a, b in zip(decoder.parameters(), banded.parameters(), strict=True):
            a.copy_(torch.randn_like(a))
            b.copy_(a)
    tokens = torch.randint(0, 5, (4, 8))
    (_, [full]), (_, [band]) = decoder(tokens, 8), banded(tokens, 8)
    lag = torch.arange(8)[:, None] + 1 - torch.arange(8)[None]
    seen = (lag >= 1) & (lag <= 3)
    expected = full * seen / (full * seen).sum(-1, keepdim=True)
    assert (band - expected).abs().max() < 1e-12


def test_windows_slide_over_every_predicted_token() -> None:
    tokens = torch.arange(2 * 9).reshape(2, 9)  # w = 4 initial, T = 5 predicted
    config = ModelConfig(window=3)
    inputs, targets, counted = input_rows(tokens, config, predicted=5)
    assert counted == 1
    assert inputs.shape == (10, 3)
    for row, (window, target) in enumerate(zip(inputs, targets, strict=True)):
        sequence, t = divmod(row, 5)
        assert target.item() == tokens[sequence, 4 + t]
        assert window.tolist() == tokens[sequence, 4 + t - 3 : 4 + t].tolist()


def test_dropout_masks_depend_on_place_not_on_chunks() -> None:
    x = torch.ones(10, 4, 7)
    whole = DropoutMasks(seed=5, step=3).apply(x, 0.3, block=0, site=1)
    parts = [DropoutMasks(seed=5, step=3, first=f).apply(x[f : f + 2], 0.3, block=0, site=1) for f in range(0, 10, 2)]
    assert torch.equal(whole, torch.cat(parts))
    for other in (DropoutMasks(seed=6, step=3), DropoutMasks(seed=5, step=4)):
        assert not torch.equal(whole, other.apply(x, 0.3, block=0, site=1))
    assert not torch.equal(whole, DropoutMasks(seed=5, step=3).apply(x, 0.3, block=1, site=1))


def test_dropout_masks_are_fair() -> None:
    x = torch.ones(400, 1000, dtype=torch.float64)
    dropped = DropoutMasks(seed=0, step=0).apply(x, 0.1, block=0, site=0)
    kept = dropped > 0
    # 400,000 draws: the share kept and every column's and row's share are binomial.
    assert abs(kept.double().mean() - 0.9) < 4 * (0.09 / kept.numel()) ** 0.5
    assert abs(dropped.mean() - 1.0) < 0.002
    columns = (kept.double().mean(0) - 0.9) / (0.09 / 400) ** 0.5
    assert 0.85 < columns.std() < 1.15
    lagged = ((kept[:, 1:].double() - 0.9) * (kept[:, :-1].double() - 0.9)).mean() / 0.09
    assert abs(lagged) < 4 / kept.numel() ** 0.5
