"""What every engine keeps, whichever path computes: values, gradients, dropout, divergence and resuming.

Each is held to the decoder on the whole batch in float64: an engine in float64 to that precision, one in float32 to
three times the error of plain float32.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from engines import PAIRS, SUBJECTS, Subject
from path_grid import EVERYWHERE, MINIMAL, PUBLISHED, TEXT, gradient, random_batch, random_decoder

from headwise.model.config import DropoutConfig, ModelConfig
from headwise.model.decoder import Decoder
from headwise.model.dropout import DropoutMasks
from headwise.model.initialise import initialise
from headwise.model.reference import ReferenceEngine

every_pair = pytest.mark.parametrize(("subject", "config"), PAIRS.values(), ids=PAIRS)
every_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=str)
MODELS = {
    "minimal": MINIMAL,
    "text": TEXT,
    "published": PUBLISHED,
    "two published": PUBLISHED.changed({"blocks": 2}),
    "pre": TEXT.changed({"norm": "pre"}),
}
every_model = pytest.mark.parametrize("model", MODELS)


@pytest.fixture(autouse=True)
def instructions(request: pytest.FixtureRequest) -> object:
    with request.getfixturevalue("subject").instructions():
        yield


def small_decoder(config: ModelConfig) -> Decoder:
    """Random weights that float32 holds exactly, in float64."""
    return random_decoder(config).float().double()


def decoder_loss(decoder: Decoder, inputs: torch.Tensor, targets: torch.Tensor, masks: DropoutMasks | None) -> float:
    """The loss by the decoder itself, the whole batch at once; leaves the gradients."""
    decoder.zero_grad()
    logits, _ = decoder(inputs, targets.shape[1], masks)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    return loss.item()


@every_pair
def test_loss_and_gradients_with_dropout(subject: Subject, config: ModelConfig) -> None:
    decoder = small_decoder(config)
    inputs, targets = random_batch(decoder, 47)
    masks = DropoutMasks(seed=3, step=2)
    exact = decoder_loss(decoder, inputs, targets, masks)
    expected = gradient(decoder)
    scale = torch.linalg.norm(expected)
    decoder.to(subject.dtype)
    decoder_loss(decoder, inputs, targets, masks)
    plain_error = torch.linalg.norm(gradient(decoder) - expected) / scale
    loss = subject.make(decoder).loss_and_gradients(inputs, targets, step=2)
    error = torch.linalg.norm(gradient(decoder) - expected) / scale
    if subject.dtype == torch.float64:
        assert abs(loss - exact) < 1e-12 * abs(exact)
        assert error < 1e-10
    else:
        assert abs(loss - exact) < 2e-6 * abs(exact)
        assert error < 1e-5
        assert error < max(3 * plain_error, 3e-7)


@every_subject
@every_model
def test_a_step_without_dropout_drops_nothing(subject: Subject, model: str) -> None:
    """Whatever the rates are, and whether the steps around it drop."""
    config = MODELS[model]
    if not subject.computes(config) or not subject.computes(config.changed({"dropout": DropoutConfig()})):
        pytest.skip("this subject computes one of the two only")
    decoder = small_decoder(config)
    inputs, targets = random_batch(decoder, 47)
    expected = decoder_loss(decoder, inputs, targets, None)
    gradients = gradient(decoder)
    engine = subject.make(decoder.to(subject.dtype))
    before = engine.loss_and_gradients(inputs, targets, step=2)
    close = 1e-10 if subject.dtype == torch.float64 else 1e-5
    assert engine.loss_and_gradients(inputs, targets, step=3, dropout=False) == pytest.approx(expected, rel=close)
    error = torch.linalg.norm(gradient(decoder) - gradients) / torch.linalg.norm(gradients)
    assert error < close
    assert engine.loss_and_gradients(inputs, targets, step=2) == before


@every_pair
def test_logits_and_attention_without_dropout(subject: Subject, config: ModelConfig) -> None:
    decoder = small_decoder(config)
    inputs, targets = random_batch(decoder, 47)
    counted = targets.shape[1]
    with torch.no_grad():
        expected, attention = decoder(inputs, counted)
    logits = torch.full_like(expected, torch.nan)

    def visit(rows: slice, chunk: torch.Tensor) -> None:
        logits[rows] = chunk.double()

    summary = subject.make(decoder.to(subject.dtype)).evaluate(inputs, counted=counted, visit=visit)
    close = {"rtol": 1e-10, "atol": 1e-12} if subject.dtype == torch.float64 else {"rtol": 1e-5, "atol": 1e-5}
    # Without norms logits of hundreds are sums of terms as large: what rounding leaves is relative to these.
    size = max(1.0, expected.abs().max().item() / 10)
    torch.testing.assert_close(logits / size, expected / size, **close)
    assert len(summary.map) == len(summary.entropy) == len(attention)
    for block, a_BHQS in enumerate(attention):
        seen = a_BHQS[:, :, -counted:]
        torch.testing.assert_close(summary.map[block], seen.mean(0), **close)
        entropy = torch.special.entr(seen).sum(-1).mean((0, 2))
        torch.testing.assert_close(summary.entropy[block], entropy, **close)


@every_subject
def test_dropout_is_a_function_of_seed_and_step(subject: Subject) -> None:
    decoder = small_decoder(TEXT.changed({"dropout": EVERYWHERE})).to(subject.dtype)
    inputs, targets = random_batch(decoder, 47)

    def loss(*, seed: int, step: int, chunk: int = 3) -> float:
        return subject.make(decoder, dropout_seed=seed, chunk=chunk).loss_and_gradients(inputs, targets, step=step)

    assert loss(seed=3, step=2) == loss(seed=3, step=2)
    assert loss(seed=3, step=2, chunk=50) == pytest.approx(loss(seed=3, step=2), rel=1e-6)
    assert abs(loss(seed=3, step=5) - loss(seed=3, step=2)) > 1e-4
    assert abs(loss(seed=4, step=2) - loss(seed=3, step=2)) > 1e-4


@every_subject
@pytest.mark.parametrize("site", list(DropoutConfig.model_fields))
def test_each_site_drops_by_itself(subject: Subject, site: str) -> None:
    """One rate set, the others zero: the loss is the decoder's with that mask, and not the one without dropout."""
    config = PUBLISHED.changed({"dropout": DropoutConfig.model_validate({site: 0.4})})
    if not subject.computes(config):
        pytest.skip("dropped inputs have the output matrix folded in")
    decoder = small_decoder(config).to(subject.dtype)
    inputs, targets = random_batch(decoder, 47)
    without = decoder_loss(decoder, inputs, targets, None)
    expected = decoder_loss(decoder, inputs, targets, DropoutMasks(seed=3, step=2))
    assert abs(expected - without) > 1e-3
    got = subject.make(decoder).loss_and_gradients(inputs, targets, step=2)
    assert got == pytest.approx(expected, rel=1e-5 if subject.dtype == torch.float32 else 1e-12)


@every_subject
def test_a_diverged_loss_is_seen(subject: Subject) -> None:
    for config in (MINIMAL, TEXT, MINIMAL.changed({"blocks": 2}), TEXT.changed({"norm": "pre"})):
        if not subject.computes(config):
            continue
        decoder = small_decoder(config).to(subject.dtype)
        inputs, targets = random_batch(decoder, 5)
        for parameter in decoder.parameters():
            with torch.no_grad():
                kept = parameter.flatten()[0].clone()
                parameter.view(-1)[0] = float("nan")
            loss = subject.make(decoder).loss_and_gradients(inputs, targets, step=0)
            if parameter.dim() == 1 or torch.isnan(decoder(inputs, targets.shape[1])[0]).any():
                assert np.isnan(loss)
            with torch.no_grad():
                parameter.view(-1)[0] = kept


class Lesson:
    """A small training: a token repeats the one three before."""

    def __init__(self, subject: Subject, config: ModelConfig) -> None:
        self.subject = subject
        self.decoder = Decoder(config, dictionary=7, positions=9)
        initialise(self.decoder, 2)
        self.decoder.to(subject.dtype)
        self.optimizer = torch.optim.AdamW(self.decoder.parameters(), lr=0.003)
        self.engine = subject.make(self.decoder, dropout_seed=4, chunk=50)

    def take(self, steps: range) -> list[float]:
        losses = []
        for step in steps:
            inputs, _ = random_batch(self.decoder, 64, seed=step)
            targets = inputs[:, -4 - 2 : -2].contiguous()
            losses.append(self.engine.loss_and_gradients(inputs, targets, step=step))
            torch.nn.utils.clip_grad_norm_(self.decoder.parameters(), 1.0)
            self.optimizer.step()
        return losses


def learnable(config: ModelConfig) -> ModelConfig:
    return config.changed({"init": "xavier", "init_scale": 1.0, "init_values": "xavier"})


@every_subject
@every_model
def test_resuming_continues_to_the_bit(subject: Subject, model: str) -> None:
    config = learnable(MODELS[model])
    if not subject.computes(config):
        pytest.skip("this model has no output matrix to keep apart")
    straight, before, after = (Lesson(subject, config) for _ in range(3))
    losses = straight.take(range(12))
    first = before.take(range(7))
    after.decoder.load_state_dict(before.decoder.state_dict())
    after.optimizer.load_state_dict(before.optimizer.state_dict())
    assert first + after.take(range(7, 12)) == losses
    for name, weights in straight.decoder.state_dict().items():
        assert torch.equal(weights, after.decoder.state_dict()[name]), name


@cache
def reference_losses(model: str) -> list[float]:
    lesson = Lesson(Subject("reference", torch.float32), learnable(MODELS[model]))
    assert isinstance(lesson.engine, ReferenceEngine)
    return lesson.take(range(200))


@pytest.mark.parametrize("subject", [Subject("torch", torch.float32), Subject("kernel", torch.float32)], ids=str)
@every_model
def test_two_hundred_steps_stay_with_the_reference(subject: Subject, model: str) -> None:
    expected, got = reference_losses(model), Lesson(subject, learnable(MODELS[model])).take(range(200))
    assert expected[-1] < 0.9 * expected[0]
    assert max(abs(a - b) for a, b in zip(expected, got, strict=True)) < 1e-3
