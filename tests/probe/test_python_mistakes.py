"""Typical mistakes in Python: one sentence each, which names what was given and what to give."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import headwise
from headwise.core.errors import ConfigError
from headwise.probe import Watch

IDS = torch.randint(16, (3, 8), generator=torch.Generator().manual_seed(0))


def model() -> nn.Module:
    return nn.Sequential(nn.Embedding(16, 8), nn.TransformerEncoderLayer(8, nhead=2, batch_first=True))


def look(watched: Any = None, **options: Any) -> Watch:
    options = {"tokens": IDS, "every": 1, **options}
    with headwise.watch(model() if watched is None else watched, **options) as w:
        w.step()
    return w


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "a path where a trajectory is wanted": (
        lambda: headwise.detect("runs/minimal"),  # type: ignore[arg-type]
        "detect takes one trajectory, not a str; headwise.load reads a run from its path",
    ),
    "a watch where a trajectory is wanted": (
        lambda: headwise.detect(look()),  # type: ignore[arg-type]
        "detect takes one trajectory, not a Watch; give its .trajectory",
    ),
    "a misspelt option": (
        lambda: look(evry=5),
        "watch() has no option 'evry'; did you mean every?",
    ),
    "a config key for an option": (
        lambda: headwise.train("minimal", steps=10),  # type: ignore[call-arg]
        "train() has no option 'steps'; train.steps is a key of the config, given as "
        "experiment(NAME, changes={'train.steps': ...})",
    ),
    "a word that is none of the words": (
        lambda: headwise.detect(look().trajectory, groups="all"),  # type: ignore[arg-type]
        "groups = 'all' must be 'given' or 'found'",
    ),
    "sequences of a kind that there is not": (
        lambda: headwise.probe_folder("nowhere", synthetic="markof"),  # type: ignore[arg-type]
        "synthetic = 'markof' must be 'repeated', 'markov' or 'random'; did you mean markov?",
    ),
    "ids where a file of ids is wanted": (
        lambda: headwise.probe_folder("nowhere", tokens=IDS),  # type: ignore[arg-type]
        "tokens is a Tensor; give a path of ids or text, such as numpy.save makes of ids",
    ),
    "a model where its folder is wanted": (
        lambda: headwise.probe_folder(model()),  # type: ignore[arg-type]
        "folder is a Sequential; give a path of checkpoints; headwise.watch looks at a model itself",
    ),
    "seeds as text": (
        lambda: headwise.plan_sweep("minimal", seeds="0..2"),  # type: ignore[arg-type]
        "seeds are given as a list, such as [0, 1, 2] or range(3) (got '0..2')",
    ),
    "a class for a model": (
        lambda: look(nn.TransformerEncoderLayer),
        "cannot watch the class TransformerEncoderLayer; make a model of it first and give that",
    ),
    "several batches at once": (
        lambda: look(tokens=(IDS, IDS)),
        "tokens of shape (2, 3, 8) are whole numbers; ids are (sequences, positions): join batches with torch.cat",
    ),
    "images": (
        lambda: look(tokens=torch.zeros(2, 3, 8, 8)),
        "tokens of shape (2, 3, 8, 8); give (sequences, positions) (images are none",
    ),
    "a mask of another shape": (
        lambda: look(tokens={"src": IDS, "attention_mask": torch.ones(3, 5)}),
        "tokens: attention_mask has shape (3, 5) and src (3, 8); give one number for each token",
    ),
    "a mask of one row for a batch": (
        lambda: look(tokens={"src": IDS, "attention_mask": torch.ones(8)}),
        "tokens: attention_mask has shape (8,) and src (3, 8); give one number for each token",
    ),
    "a model that cannot be run": (
        lambda: look(nn.ModuleList([model()])),
        "ModuleList cannot be run on tokens of shape (3, 8) (int64): NotImplementedError: ",
    ),
    "a whole output for a loss": (
        lambda: [w := headwise.watch(model(), tokens=IDS), w.begin(0), w.step({"loss": 1.0})],  # type: ignore[arg-type]
        "step() takes the loss as one number, not a dict",
    ),
    "the name of a tracker for a hook": (
        lambda: look(on_look="wandb"),
        "on_look = 'wandb' cannot be called; give a function of a look, such as headwise.Tracker('wandb')",
    ),
    "a height as a word": (
        lambda: look().show(height="big"),  # type: ignore[arg-type]
        "height = 'big' is not between",
    ),
    "a first look before the first step": (
        lambda: headwise.watch(model(), tokens=IDS).begin(-5),
        "begin(-5): the first look is at a step of 0 or more",
    ),
    "a misspelt option of a method": (
        lambda: look().save("runs", lable="x"),  # type: ignore[call-arg]
        "save() has no option 'lable'; did you mean label?",
    ),
    "a batch without its name": (
        lambda: headwise.watch(model(), IDS),  # type: ignore[call-arg,misc]
        "watch() takes only model without a name; give the rest by name, such as tokens=...",
    ),
    "no batch at all": (
        lambda: headwise.watch(model()),  # type: ignore[call-arg]
        "watch() needs tokens; give it as tokens=...",
    ),
    "a value given twice": (
        lambda: headwise.detect(look().trajectory, run=3),  # type: ignore[misc]
        "detect() is given run twice, in its place and by name; give it once",
    ),
    "a misspelt key": (
        lambda: headwise.experiment("minimal", changes={"train.stpes": 3}),
        "unknown key train.stpes; did you mean train.steps?",
    ),
    "a reproduction of no seed": (
        lambda: headwise.reproduce(["order"], seeds=[]),
        "--seeds is empty; give at least one",
    ),
    "branches of no seed": (
        lambda: headwise.branch("runs/minimal", 10, seeds=[]),
        "--seeds is empty; give at least one",
    ),
    "a misspelt experiment": (
        lambda: headwise.experiment("minmal"),
        "unknown experiment 'minmal'; did you mean minimal?; `headwise list` shows all of them",
    ),
    "a model without attention": (
        lambda: look(nn.Linear(4, 4), tokens=torch.randn(2, 3, 4)),
        "no attention was seen: looked for nn.MultiheadAttention and scaled_dot_product_attention in Linear",
    ),
    "the name of a model": (
        lambda: look("gpt2"),
        "cannot watch a str; give a torch module, a Hugging Face or TransformerLens model, or a function from tokens",
    ),
    "float tokens": (
        lambda: look(tokens=IDS.float()),
        "tokens are float32, and Sequential looks up ids; give whole numbers, such as tokens.long()",
    ),
    "ids outside the vocabulary": (
        lambda: look(tokens=IDS + 10),
        "tokens range over 10..25, the model has 0..15",
    ),
    "text for tokens": (
        lambda: look(tokens=["once upon", "a time"]),
        "tokens are text; give token ids, (sequences, positions), such as a tokenizer makes",
    ),
    "rows of different lengths": (
        lambda: look(tokens=[[1, 2, 3], [1, 2]]),
        "tokens have rows of different lengths; cut or pad them to one, with an attention_mask",
    ),
    "every as a word": (
        lambda: look(every="atuo"),
        "every = 'atuo' must be a number of steps, 'auto' or a sequence of steps to look at",
    ),
    "every as a fraction": (
        lambda: look(every=2.5),
        "every = 2.5 must be a number of steps, 'auto' or a sequence of steps to look at",
    ),
    "one id where a list is wanted": (
        lambda: look(classes={"newline": 10}),
        "classes: 'newline' needs a name and a list of token ids, such as {'newline': [10]}",
    ),
    "text where a list is wanted": (
        lambda: look(classes={"newline": "10"}),
        "classes: 'newline' needs a name and a list of token ids, such as {'newline': [10]}",
    ),
    "a list where names are wanted": (
        lambda: look(classes=[10]),
        "classes = [10] must be names with token ids, such as {'newline': [10]}",
    ),
    "a number as text": (
        lambda: look(lags="8"),
        "lags = '8' must be a whole number of at least 1",
    ),
    "a word that is no choice": (
        lambda: look(induction="yes"),
        "induction = 'yes' must be 'on' or 'off'",
    ),
    "a loss of several numbers": (
        lambda: [w := headwise.watch(model(), tokens=IDS), w.begin(0), w.step(torch.ones(3))],
        "step() takes the loss as one number, not a tensor of shape (3,)",
    ),
    "a step outside the with": (
        lambda: headwise.watch(model(), tokens=IDS).step(),
        "step() counts inside `with watch(...) as w:` only",
    ),
    "a page of a number": (
        lambda: headwise.page(3),  # type: ignore[arg-type]
        "a page shows runs, trajectories and watches, not a int; give a run directory, headwise.load(RUN) or what "
        "headwise.watch returned",
    ),
    "a page that is no page": (
        lambda: look().page("heads.png"),
        "heads.png: a page ends in .html",
    ),
    "one name where a list is wanted": (
        lambda: headwise.check("ordering"),
        "statements are given as a list of names, such as ['ordering']",
    ),
    "axes as text": (
        lambda: headwise.plan_sweep("minimal", over="task.m=1,2"),  # type: ignore[arg-type]
        "axes are given by key, such as {'task.m': [1, 1.5]} (got 'task.m=1,2')",
    ),
    "one value where a grid is wanted": (
        lambda: headwise.plan_sweep("minimal", over={"task.m": 1.5}),  # type: ignore[dict-item]
        "the grid over task.m needs a list of values, such as [1, 1.5] (got 1.5)",
    ),
    "a seed as text": (
        lambda: look().save("nowhere", seed="a"),  # type: ignore[arg-type]
        "seed = 'a' must be a whole number of 0 or more",
    ),
    "a way to show progress that there is not": (
        lambda: headwise.train("minimal", progress="loud"),  # type: ignore[arg-type]
        "progress = 'loud' must be 'auto', 'lines' or 'off'",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    act, sentence = MISTAKES[name]
    with pytest.raises(ConfigError) as caught:
        act()
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == [], "a refused call leaves nothing behind"


FUNCTIONS = [name for name in headwise.__all__ if inspect.isfunction(getattr(headwise, name))]


def test_every_function_knows_its_options() -> None:
    assert len(FUNCTIONS) > 30
    for name in FUNCTIONS:
        with pytest.raises(ConfigError, match=r"\(\) has no option 'no_such_option'"):
            getattr(headwise, name)(no_such_option=1)


def test_a_misspelt_function_is_recognised() -> None:
    with pytest.raises(AttributeError, match=r"^headwise has no 'trian'; did you mean train\?$"):
        headwise.trian  # noqa: B018


def test_a_model_that_takes_floats_of_two_dimensions_is_watched_all_the_same() -> None:
    class Series(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lift, self.place = nn.Linear(1, 8), nn.Embedding(8, 8)
            self.layer = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(self.lift(x[..., None]) + self.place(torch.arange(x.shape[1])))

    assert look(Series(), tokens=torch.randn(3, 8)).trajectory.sizes["head"] == 2


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert headwise.__version__ == version("headwise")


def test_functions_with_named_options_can_still_be_sent_to_workers() -> None:
    for function in (getattr(headwise, name) for name in FUNCTIONS):
        assert pickle.loads(pickle.dumps(function)) is function
