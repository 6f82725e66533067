"""A task, a model and an optimiser of one's own in headwise's training loop, against plain torch and enumeration."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.conftest import tiny
from torch import nn

import headwise
from headwise.core.errors import ConfigError
from headwise.core.seeds import Stream, generator, integer_seed
from headwise.store import RunDirectory
from headwise.view.report.members import read_member
from headwise.view.report.pages import runs_page

D, LENGTH, PREDICTED = 5, 9, 4
CHAIN = np.random.default_rng(3).dirichlet(np.ones(D), size=D)


def draw(count: int, rng: np.random.Generator) -> np.ndarray:
    """A Markov chain whose next token depends on the token two before."""
    tokens = rng.integers(D, size=(count, LENGTH))
    for t in range(2, LENGTH):
        below = CHAIN[tokens[:, t - 2]].cumsum(-1)
        tokens[:, t] = (rng.random((count, 1)) > below[:, :-1]).sum(-1)
    return tokens


def law(tokens: np.ndarray) -> np.ndarray:
    return np.log(CHAIN[tokens[:, LENGTH - PREDICTED - 2 : LENGTH - 2]])


def even(tokens: np.ndarray) -> np.ndarray:
    return np.full((len(tokens), PREDICTED, D), -np.log(D))


TASK = headwise.OwnTask(
    name="two-back",
    sample=draw,
    d=D,
    length=LENGTH,
    predicted=PREDICTED,
    law=law,
    predictors={"even": even},
    groups=((2,), (1,)),
)


class Net(nn.Module):
    """One layer of torch's own attention, with dropout and a running mean."""

    def __init__(self, d: int = D, width: int = 8) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(d, width), nn.Embedding(32, width)
        self.attention = nn.MultiheadAttention(width, 2, dropout=0.1, batch_first=True)
        self.norm, self.out = nn.BatchNorm1d(width), nn.Linear(width, d)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        z, _ = self.attention(x, x, x, attn_mask=mask, need_weights=False)
        return self.out(self.norm((x + z).mT).mT)


def net() -> nn.Module:
    return Net()


def groups_of_parameters(parameters: Any) -> torch.optim.Optimizer:
    """Matrices and vectors apart, so that the optimiser counts them in another order than the model."""
    vectors, matrices = [p for p in parameters if p.ndim < 2], [p for p in parameters if p.ndim >= 2]
    return torch.optim.Adam([{"params": vectors, "lr": 0.02}, {"params": matrices}], lr=0.01, betas=(0.8, 0.9))


def run_config(**updates: object) -> headwise.RunConfig:
    return tiny(**updates)


def test_a_task_of_ones_own_with_headwises_decoder(tmp_path: Path) -> None:
    found = headwise.train(run_config(train__steps=0), out=tmp_path, progress="off", task=TASK)
    [run] = (tmp_path / "minimal-own").iterdir()
    assert found["predictor"].values.tolist() == ["even", "truth"]
    assert found["attention_by_group"].shape[-1] == 2
    assert found.sizes["lag"] == LENGTH - 1
    config = run_config()
    test = draw(config.measure.test_samples, generator(config.seed, Stream.TEST))
    targets = test[:, LENGTH - PREDICTED :]
    best = -np.take_along_axis(law(test), targets[..., None], -1).mean()
    excess = float(found["loss"].sel(split="test")[0]) - best
    assert float(found["excess_loss"][0]) == pytest.approx(excess, abs=1e-6)
    stored = RunDirectory(run).read_config()
    assert stored["own"]["task"]["name"] == "two-back"
    assert (stored["task"]["d"], stored["task"]["w"], stored["task"]["T"]) == (D, LENGTH - PREDICTED, PREDICTED)
    assert "value_alignment" not in found, "there are no features to compare with"


def test_a_task_without_laws_has_losses_and_attention(tmp_path: Path) -> None:
    bare = headwise.OwnTask(name="bare", sample=draw, d=D, length=LENGTH, predicted=PREDICTED)
    found = headwise.train(run_config(), out=tmp_path, progress="lines", task=bare)
    assert not {"kl", "excess_loss", "attention_by_group"} & set(found.data_vars)
    [run] = (tmp_path / "minimal-own").iterdir()
    assert "loss" in str(headwise.show(run))
    headwise.page(run, tmp_path / "page.html")
    headwise.draw_run(run, tmp_path / "figure.png")
    assert headwise.detect(found) is not None
    assert headwise.list_runs(tmp_path)[0].loss is not None


def test_a_module_is_trained_and_measured_as_plain_torch_would(tmp_path: Path) -> None:
    """The same steps by hand: initial weights, batches, dropout, clipping, optimiser."""
    config = run_config(train__data="fresh", train__batch=16)
    found = headwise.train(config, out=tmp_path, progress="off", task=TASK, model=net)
    torch.manual_seed(integer_seed(config.seed, Stream.INIT))
    model = Net()
    optimiser = torch.optim.AdamW(model.parameters(), lr=config.train.lr, weight_decay=config.train.weight_decay)
    dropout = integer_seed(config.seed, Stream.DROPOUT)
    for step in range(12):
        tokens = torch.from_numpy(draw(16, generator(config.seed, Stream.DATA, step + 1)))
        torch.manual_seed(integer_seed(dropout, Stream.DROPOUT, step))
        logits = model(tokens[:, :-1])[:, -PREDICTED:]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, -PREDICTED:].flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.train.clip)
        optimiser.step()
    assert float(found["loss"].sel(split="train")[-1]) == pytest.approx(loss.item(), abs=1e-5)
    model.eval()
    test = torch.from_numpy(draw(config.measure.test_samples, generator(config.seed, Stream.TEST)))[:, :-1]
    with torch.no_grad():
        x = model.tokens(test) + model.places(torch.arange(test.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(test.shape[1])
        _, weights = model.attention(x, x, x, attn_mask=mask, average_attn_weights=False)
        log_model = model(test).log_softmax(-1)[:, -PREDICTED:].double().numpy()
    counted = weights[:, :, -PREDICTED:].double().mean(0).numpy()
    by_lag = [
        [np.mean([head[q, -PREDICTED + q - lag] for q in range(PREDICTED)]) for lag in range(3)] for head in counted
    ]
    assert np.allclose(found["attention_by_lag"][-1, 0, :, :3], by_lag, atol=1e-5)
    even = np.mean([1 / (LENGTH - 1 - q) for q in range(PREDICTED)])
    previous = found["role_score"].sel(role="previous")[-1, 0]
    assert np.allclose(previous, (np.array(by_lag)[:, 1] - even) / (1 - even), atol=1e-5)
    whole = draw(config.measure.test_samples, generator(config.seed, Stream.TEST))
    kl = (np.exp(law(whole)) * (law(whole) - log_model)).sum(-1).mean()
    assert float(found["kl"].sel(predictor="truth")[-1]) == pytest.approx(kl, abs=1e-5)


class Built(nn.Module):
    """Head 1 looks at the previous token, head 2 at what followed earlier copies of its token; the rest is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Dropout(0.0)
        self.values = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1])
        previous = nn.functional.one_hot((places - 1).clamp(min=0), len(places)).float().expand(len(tokens), -1, -1)
        before = torch.cat([torch.full_like(tokens[:, :1], -1), tokens[:, :-1]], dim=1)
        copies = ((before[:, None, :] == tokens[:, :, None]) & (places <= places[:, None])).float()
        copies = torch.where(copies.any(-1, keepdim=True), copies, torch.eye(len(places)))
        weights = self.weights(torch.stack([previous, copies / copies.sum(-1, keepdim=True)], dim=1))
        seen = torch.einsum("bhqk,bkd->bhqd", weights, nn.functional.one_hot(tokens, 8).float())
        return self.values[0](seen[:, 0]) + self.values[1](seen[:, 1])


def test_a_module_has_roles_as_a_watched_model_has(tmp_path: Path) -> None:
    """Whose heads do what is known by construction; the page names and colours them."""
    even = headwise.OwnTask(
        name="even", sample=lambda count, rng: rng.integers(8, size=(count, 25)), d=8, length=25, predicted=16
    )
    config = run_config(train__steps=30)
    own = {"task": even, "model": Built, "attention": "weights"}
    found = headwise.train(config, out=tmp_path, progress="off", **own)
    assert {(event.head, event.role) for event in headwise.detect(found).roles} == {(1, "previous"), (2, "induction")}
    watch = headwise.watch(
        Built(),
        tokens=torch.from_numpy(even.draw(config.measure.test_samples, generator(config.seed, Stream.TEST)))[:, :-1],
        queries=16,
        attention="weights",
    )
    with watch as w:
        pass
    for name in ("role_score", "role_chance", "role_fold", "lag_chance", "lag_error", "attention_by_lag"):
        assert np.allclose(found[name][-1], w.trajectory[name][0], atol=1e-6, equal_nan=True), name
    [run] = (tmp_path / "minimal-own").iterdir()
    page = runs_page([read_member(run)])
    assert "<h1>Built · even · seed 0</h1>" in page
    assert "induction: L0H1 from the first look; lag 2 (previous token): L0H0 from the first look" in page
    assert "What each head does, over training" in page


@pytest.mark.parametrize("optimizer", [None, groups_of_parameters], ids=["by name", "own"])
def test_a_stopped_run_ends_bit_for_bit_as_one_that_was_not(tmp_path: Path, optimizer: Any) -> None:
    own = {"task": TASK, "model": net, "optimizer": optimizer}
    whole = headwise.train(run_config(), out=tmp_path / "whole", progress="off", **own)

    def press(look: headwise.Look) -> None:
        if look.step == 6:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="interrupted at step 6 of 12; the same"):
        headwise.train(run_config(), out=tmp_path / "cut", progress="off", on_look=press, **own)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    [run] = (tmp_path / "cut" / "minimal-own").iterdir()
    assert headwise.load(run)["step"].values.tolist() == [0, 3, 6], "readable at once"
    seen: list[int] = []
    resumed = headwise.train(
        run_config(), out=tmp_path / "cut", progress="off", on_look=lambda look: seen.append(look.step), **own
    )
    assert seen == [9, 12]
    assert resumed.equals(whole)
    headwise.verify(run)


def test_other_code_is_another_run_and_stored_code_is_never_run(tmp_path: Path) -> None:
    headwise.train(run_config(), out=tmp_path, progress="off", task=TASK, model=net)
    headwise.train(run_config(), out=tmp_path, progress="off", task=TASK, model=lambda: Net(width=4))
    runs = sorted((tmp_path / "minimal-own").iterdir())
    assert len(runs) == 2
    stored = next(c for run in runs if "net" in (c := RunDirectory(run).read_config())["own"]["model"]["name"])
    with pytest.raises(ConfigError, match=r"model: this run was made with .*\.net \(source"):
        headwise.train(stored, out=tmp_path, task=TASK, model=Net)
    with pytest.raises(ConfigError, match="task: this run was made with code of your own, two-back; give it again"):
        headwise.train(stored, out=tmp_path / "new", progress="off")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": Net()}, "model is a Net; give a function that makes it"),
        ({"optimizer": torch.optim.SGD(Net().parameters(), lr=1.0)}, "optimizer is a SGD; give a function"),
        ({"model": lambda: 3}, "model: the function gave a int; return a torch.nn.Module"),
        ({"model": lambda: Net(d=7)}, r"model: Net gave shape \(.*7\) for tokens .*return logits of shape \(.*5\)"),
        ({"model": lambda: nn.Embedding(D, D)}, "no attention was seen"),
        ({"optimizer": lambda parameters: parameters}, "optimizer: the function gave a list"),
        ({"optimizer": lambda p: torch.optim.SGD(Net().parameters(), lr=1.0)}, "not the model's"),
        ({"task": draw}, "task is a function; give a headwise.OwnTask"),
        ({"attention": "x"}, "give model= too"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        headwise.train(run_config(), out=tmp_path, progress="off", **{"task": TASK, **options})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"predicted": LENGTH}, "predicted = 9 must be between 1 and length - 1 = 8"),
        ({"name": "a b"}, "task name = 'a b'"),
        ({"groups": ((9,),)}, "lag 9"),
        ({"sample": lambda count, rng: rng.random((count, LENGTH))}, r"sample gave float64 of shape \(30, 9\)"),
        ({"sample": lambda count, rng: np.full((count, LENGTH), D)}, r"they must lie in 0\.\.4"),
        ({"law": lambda tokens: np.zeros((len(tokens), PREDICTED, D))}, "add up to 5..5 instead of 1"),
        ({"law": lambda tokens: 1 / 0}, "two-back: truth failed: ZeroDivisionError"),
    ],
)
def test_mistakes_in_a_task_are_one_sentence(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    given = {key: getattr(TASK, key) for key in ("name", "sample", "d", "length", "predicted", "law")}
    with pytest.raises(ConfigError, match=words) as caught:
        headwise.train(run_config(), out=tmp_path, progress="off", task=headwise.OwnTask(**{**given, **changes}))
    assert "\n" not in str(caught.value)


def test_a_step_without_dropout_runs_a_module_in_its_evaluation_mode() -> None:
    from headwise.study.own_engine import OwnEngine

    torch.manual_seed(0)
    module = Net()
    module.norm.eval()
    engine = OwnEngine(module, vocabulary=D, dropout_seed=1, chunk=8)
    tokens = torch.from_numpy(draw(16, np.random.default_rng(0)))
    inputs, targets = tokens[:, :-1], tokens[:, -PREDICTED:]
    dropped = engine.loss_and_gradients(inputs, targets, step=0)
    plain = engine.loss_and_gradients(inputs, targets, step=0, dropout=False)
    assert module.training, "its modes are what they were"
    assert not module.norm.training, "also those of parts that were not learning"
    module.eval()
    logits = module(inputs)[:, -PREDICTED:]
    assert plain == pytest.approx(nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).item())
    assert abs(dropped - plain) > 1e-4
