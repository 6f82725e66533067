"""The plain models are the reference decoder's function, and an oracle for every path with dropout."""

from __future__ import annotations

import pytest
import torch

from headwise.bench.accuracy import gradient_errors, relu_flips
from headwise.bench.cases import NAMES, Name, Sizes, contenders, engine, paper_sizes, prepared
from headwise.bench.plain import PlainMinimal, plain_evaluation, plain_model
from headwise.bench.plain_gradients import plain_gradients
from headwise.model import kernel
from headwise.model.config import DropoutConfig
from headwise.model.decoder import Decoder
from headwise.model.dropout import DropoutMasks

PATHS = ["reference", "torch"] + (["kernel"] if kernel.missing() is None else [])
TRAINING: tuple[Name, ...] = tuple(name for name in NAMES if name != "evaluation")


def small(case: Name) -> Sizes:
    sizes = paper_sizes(case, batch=23)
    one_hot = sizes.model.embedding == "one_hot"
    model = sizes.model if one_hot else sizes.model.changed({"width": 24, "mlp": 16})
    return sizes._replace(model=model, d=11)


def moved(sizes: Sizes) -> tuple[Decoder, torch.Tensor, torch.Tensor]:
    """Weights away from where biases and norms start, in float64."""
    decoder, inputs, targets = prepared(sizes)
    decoder.double()
    rng = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=rng, dtype=torch.float64))
    return decoder, inputs, targets


@pytest.mark.parametrize("case", TRAINING)
def test_plain_evaluates_the_decoder(case: Name) -> None:
    decoder, inputs, targets = moved(small(case))
    expected, _ = decoder(inputs, targets.shape[1])
    plain = plain_model(decoder)
    got = plain_evaluation(plain, inputs, counted=targets.shape[1], chunk=7)
    torch.testing.assert_close(got, expected.detach(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("case", TRAINING)
@pytest.mark.parametrize("path", ["reference", "torch"])
def test_paths_equal_torchs_own_layer_with_the_same_masks(case: Name, path: str) -> None:
    decoder, inputs, targets = moved(small(case))
    expected = plain_gradients(decoder, inputs, targets, seed=1, step=4)
    engine(path, decoder).loss_and_gradients(inputs, targets, step=4)  # type: ignore[arg-type]
    scale = torch.stack([g.norm() for g in expected]).norm()
    for parameter, grad in zip(decoder.parameters(), expected, strict=True):
        assert parameter.grad is not None
        assert (parameter.grad - grad).norm() < 1e-10 * scale


@pytest.mark.parametrize("case", TRAINING)
def test_float32_paths_are_as_exact_as_plain(case: Name) -> None:
    errors = gradient_errors(paper_sizes(case, batch=60), PATHS)  # type: ignore[arg-type]
    assert errors["relu_flips"] == 0
    for path in PATHS:
        assert errors[path] < 1e-5
        assert errors[path] < max(3 * errors["plain"], 3e-7)


def test_a_flipped_unit_is_detected() -> None:
    decoder, inputs, targets = prepared(small("full"))
    exact = prepared(small("full"))[0].double()
    assert relu_flips(decoder, exact, inputs, targets.shape[1]) == 0
    with torch.no_grad():
        # A bias that cancels one unit's input to a rounding error of either sign.
        seen = []
        hook = exact.layers[0].mlp_in.register_forward_hook(lambda m, a, out: seen.append(out[0, 0, 0].item()))
        exact(inputs[:50], targets.shape[1], DropoutMasks(seed=1, step=0))
        hook.remove()
        exact.layers[0].mlp_in.bias[0] -= seen[0] - 1e-12
        decoder.layers[0].mlp_in.bias[0] -= seen[0] + 1e-5
    assert relu_flips(decoder, exact, inputs, targets.shape[1]) >= 1


@pytest.mark.parametrize("case", NAMES)
def test_contenders_of_a_case_compute_the_same(case: Name) -> None:
    """Nothing is faster than the others by computing something else: dropout aside, one loss, one set of logits and
    one attention map, that of the decoder on the whole batch in float64."""
    sizes = small(case)
    # More sequences than one chunk holds.
    sizes = sizes._replace(model=sizes.model.changed({"dropout": DropoutConfig()}), batch=61)
    decoder, inputs, targets = prepared(sizes)
    with torch.no_grad():
        logits, attention = decoder.double()(inputs, sizes.T)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    found = {name: run() for name, run in contenders(case, sizes).items()}
    plain = {"plain", "plain_chunked"} | ({"plain_pairwise"} if "minimal" in case else set())
    assert set(found) == plain | set(PATHS)
    for name, result in found.items():
        if case != "evaluation":
            assert result == pytest.approx(loss.item(), rel=1e-6), name
        elif name in plain:
            torch.testing.assert_close(result.double(), logits, rtol=1e-4, atol=1e-5)
        else:
            torch.testing.assert_close(result.map[0], attention[0].mean(0), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("case", ["minimal", "two_minimal_blocks"])
def test_both_ways_to_write_the_minimal_model_agree(case: Name) -> None:
    decoder, inputs, targets = moved(small(case))
    expected, _ = decoder(inputs, targets.shape[1])
    for order in ("equation", "pairwise"):
        torch.testing.assert_close(PlainMinimal(decoder, order)(inputs, targets.shape[1]), expected)
