"""`watch` around a training loop: what it counts, what it costs, and that it agrees with training's own measurement."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import torch
from tests.conftest import tiny
from torch import nn
from torch.nn import functional

from headwise.core.errors import ConfigError
from headwise.core.trajectory import assemble
from headwise.phases.detection import detect
from headwise.probe import Watch, watch
from headwise.study.config import RunConfig
from headwise.study.experiments import experiment
from headwise.study.prepared_run import PreparedRun
from headwise.study.recorder import Recorder
from headwise.training.loop import Training, advance


def even(tokens: torch.Tensor) -> torch.Tensor:
    size = tokens.shape[1]
    return torch.ones(size, size).tril().div(torch.arange(1.0, size + 1)[:, None]).expand(len(tokens), 2, size, size)


def test_steps_are_counted_by_step_alone() -> None:
    with watch(even, tokens=torch.zeros(2, 5), every=3) as w:
        for number in range(8):
            w.step(loss=torch.tensor(float(number)))
    found = w.trajectory
    assert found["step"].values.tolist() == [0, 3, 6, 8]
    assert found["loss"].sel(split="train").values[1:].tolist() == [1.0, 4.0, 6.5]
    assert str(w.seen) == "function (function): 1 layer of 2 heads, lags up to 5"
    with pytest.raises(ConfigError, match="inside `with"):
        w.step()
    with pytest.raises(ConfigError, match="make another one"):
        w.begin(0)


def test_nothing_before_the_first_look() -> None:
    w = watch(even, tokens=torch.zeros(2, 5))
    for ask in (lambda: w.trajectory, lambda: w.seen, w.report):
        with pytest.raises(ConfigError, match="yet"):
            ask()
    with pytest.raises(ConfigError, match="every"):
        watch(even, tokens=torch.zeros(2, 5), every=0)


def test_an_error_in_the_loop_is_the_users_own() -> None:
    w = watch(even, tokens=torch.zeros(2, 5), every=10)

    def loop() -> None:
        with w:
            w.step()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        loop()
    assert w.trajectory["step"].values.tolist() == [0]


def test_the_batch_is_copied() -> None:
    seen = []
    tokens = torch.arange(10).reshape(2, 5)
    with watch(lambda t: (seen.append(t.clone()), even(t))[1], tokens=tokens, every=1, induction="off") as w:
        tokens.zero_()
        w.step()
    assert torch.equal(seen[1], torch.arange(10).reshape(2, 5))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(12, 16)
        self.block = nn.TransformerEncoderLayer(16, 2, 16, dropout=0.2, batch_first=True)
        self.read = nn.Linear(16, 12)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).triu(1)
        return self.read(self.block(self.embedding(tokens), src_mask=hidden, is_causal=True))


def trained(watched: bool) -> tuple[list[float], Watch | None]:
    torch.manual_seed(0)
    model = Model()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    batch = torch.randint(0, 12, (8, 10))
    losses = []

    def loop(w: Watch | None) -> None:
        for _ in range(12):
            logits = model(batch)
            loss = functional.cross_entropy(logits[:, :-1].flatten(0, 1), batch[:, 1:].flatten())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
            if w is not None:
                w.step(loss)

    if not watched:
        loop(None)
        return losses, None
    with watch(model, tokens=batch, every=1) as w:
        loop(w)
    return losses, w


def test_watching_changes_no_bit_of_training() -> None:
    """With dropout on, so that one stray random number would show."""
    assert trained(watched=True)[0] == trained(watched=False)[0]


def test_records_do_not_grow_with_the_batch() -> None:
    sizes = []
    for rows in (32, 64):
        with watch(Model(), tokens=torch.randint(0, 12, (rows, 10)), every=1) as w:
            w.step()
        sizes.append(w.trajectory.nbytes)
    assert sizes[0] == sizes[1]


def test_memory_stays_flat_over_a_thousand_watched_steps() -> None:
    """Tensors alive in the process, and the records' own bytes per look."""
    model, tokens = Model(), torch.randint(0, 12, (4, 10))

    def tensors() -> int:
        gc.collect()
        return sum(issubclass(type(item), torch.Tensor) for item in gc.get_objects())

    with watch(model, tokens=tokens, every=10) as w:
        for _ in range(100):
            w.step()
        early, after_few = tensors(), w.trajectory.nbytes
        for _ in range(900):
            w.step()
        assert tensors() == early
        assert w.trajectory.nbytes < 10 * after_few


def test_report_while_training() -> None:
    w = trained(watched=True)[1]
    document = w.report().to_json()
    assert document["specialised"]["heads"]
    assert "function: the trajectory has no kl to any predictor" in " ".join(document["agreement"]["notes"])


def watched_training(config: RunConfig) -> tuple[object, Watch]:
    """A run of headwise's own training loop, measured by itself and watched at the same steps."""
    prepared = PreparedRun(config, {})
    recorder = Recorder(prepared.evaluator, config.measure, last=config.train.steps)
    test = prepared.evaluator.test
    decoder = prepared.engine.decoder
    w = watch(decoder, tokens=test.inputs, queries=test.counted, every=config.measure.at.every, induction="off")

    def observe(training: Training) -> None:
        recorder.observe(training)
        if training.step:
            w.step(training.batch_loss)

    with w:
        advance(
            prepared.training,
            rows=prepared.rows,
            validate=prepared.evaluator.validation_loss,
            observe=observe,
            save=lambda training: None,
        )
    records = recorder._records
    variables = {name: np.stack([record[name] for record in records]) for name in records[0]}
    own = assemble(variables, {**prepared.evaluator.coordinates(), "step": recorder._steps}, prepared.attributes())
    return own, w


@pytest.mark.parametrize(("name", "blocks"), [("minimal", 1), ("full", 2)])
def test_our_own_decoder_is_measured_alike(name: str, blocks: int) -> None:
    own, w = watched_training(tiny(name=name, model__blocks=blocks))
    found = w.trajectory
    assert np.array_equal(found["step"], own["step"])
    assert np.array_equal(found["lag"], own["lag"])
    for variable in ("attention_by_lag", "attention_entropy", "head_overlap"):
        assert np.allclose(found[variable], own[variable], atol=1e-6), variable


@pytest.mark.parametrize("seed", [0, 1])
def test_watch_reports_the_offshoots_of_trainings_own_record(seed: int) -> None:
    """Minimal runs in which two heads leave; the groups are hidden from the watch, which reads lags above chance."""
    config = tiny(
        seed=seed,
        task__d=20,
        task__T=20,
        train__batch=500,
        train__samples=9000,
        train__steps=500,
        train__checkpoint_every=500,
        model__init_scale=0.01,
        measure__test_samples=200,
        measure__at__every=10,
        measure__snapshots__every=500,
    )
    own, w = watched_training(config)
    watched, known = w.report(), detect(own)
    assert len(known.offshoots) == 2
    lags = {pattern.label: set(pattern.lags) for pattern in watched.heads.patterns}
    for mine, given in zip(watched.offshoots, known.offshoots, strict=True):
        assert mine.head == given.head
        assert lags[mine.target] == {2 * given.target - 1, 2 * given.target}
        assert mine.interval is not None
        assert given.interval is not None
        assert mine.interval[0] <= given.step <= mine.interval[1]
        assert given.interval[0] <= mine.step <= given.interval[1]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_watch_on_the_published_minimal_run(seed: int) -> None:
    """The first 1000 steps of the published minimal run: both offshoots, at the evaluations of the run's own report."""
    own, w = watched_training(experiment("minimal", changes={"train.steps": 1000, "seed": seed}))
    watched, known = w.report(), detect(own)
    assert np.abs(w.trajectory["attention_by_lag"].values - own["attention_by_lag"].values).max() < 1e-6
    steps = own["step"].values
    assert len(known.offshoots) == 2
    for mine, given in zip(watched.offshoots, known.offshoots, strict=True):
        assert mine.head == given.head
        assert np.searchsorted(steps, mine.step) == np.searchsorted(steps, given.step)


def test_a_diverged_model_is_not_said_to_look_at_nothing() -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    size = {"vocab_size": 9, "n_positions": 12, "n_embd": 8, "n_layer": 1, "n_head": 2}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**size, bos_token_id=0, eos_token_id=0))
    with watch(model, tokens=torch.randint(9, (4, 12)), every=1) as w:
        w.step()
        with torch.no_grad():
            model.transformer.wte.weight.fill_(torch.nan)
        w.step()
        w.step()
    shown = str(w)
    assert shown.count("cannot tell: not finite") == 2
    assert "nothing in particular" not in shown
    assert "not finite since step 2" in shown
