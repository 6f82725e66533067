"""Means that a branch holds are those of the model that it is, against a direct loop of two blocks in plain torch.

A head of the second block reads what the first block writes, so its mean tells whether what is held there was in force.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
import torch
from branched_runs import STARTED, advanced, branched
from direct_loop import DirectLoop
from tests.conftest import tiny
from torch import Tensor

from headwise.store import Checkpoint
from headwise.study.config import RunConfig
from headwise.study.prepared_run import PreparedRun

BEGIN, STEPS = 6, 20
HEADS, COUNTED = 3, 5
SECOND_BLOCK = HEADS
"""Its first head in a direct loop."""
CLOSE = 1e-6


def run_config(*, steps: int = BEGIN + STEPS) -> RunConfig:
    return tiny(
        "depth-minimal",
        train__weight_decay=0.1,
        train__clip=0.3,
        train__steps=steps,
        compute__path="reference",
        compute__dtype="float64",
        **STARTED,
    )


@functools.cache
def begun() -> Checkpoint:
    return advanced(PreparedRun(run_config(steps=BEGIN), {})).state()


def direct(prepared: PreparedRun) -> DirectLoop:
    scale = prepared.engine.decoder.layers[0].attention.inverse_scale
    return DirectLoop(begun().arrays, heads=HEADS, step=BEGIN, d=6, inverse_scale=scale, blocks=2)


Prepare = Callable[[DirectLoop, Tensor], None]
"""Does by hand to a direct loop what a branch does; it is given the test sequences."""


def writes(loop: DirectLoop, head: int, constant: Tensor) -> None:
    """From now on this head writes a constant."""
    before = loop.written
    loop.written = lambda h, z: constant.expand_as(z) if h == head else before(h, z)


def attends(loop: DirectLoop, head: int, pattern: Tensor) -> None:
    """From now on this head attends in a fixed way; the last block asks for the last queries alone."""
    before = loop.attention
    loop.attention = lambda h, a: pattern[-a.shape[1] :].expand_as(a) if h == head else before(h, a)


def mean_written(loop: DirectLoop, test: Tensor, head: int) -> Tensor:
    return loop.heads_of(test, COUNTED)[1][head].mean((0, 1))


def mean_attention(loop: DirectLoop, test: Tensor, head: int) -> Tensor:
    return loop.heads_of(test, COUNTED)[0][head].mean(0)


def even() -> Tensor:
    pattern = torch.ones(10, 10, dtype=torch.float64).tril()
    return pattern / pattern.sum(-1, keepdim=True)


NOTHING = torch.zeros(1, dtype=torch.float64)


def silent_then_mean(loop: DirectLoop, test: Tensor) -> None:
    writes(loop, 0, NOTHING)
    writes(loop, SECOND_BLOCK, mean_written(loop, test, SECOND_BLOCK))


def even_then_past(loop: DirectLoop, test: Tensor) -> None:
    attends(loop, 1, even())
    attends(loop, SECOND_BLOCK + 2, mean_attention(loop, test, SECOND_BLOCK + 2))


def means_in_both_blocks(loop: DirectLoop, test: Tensor) -> None:
    for head in (0, 1, SECOND_BLOCK, SECOND_BLOCK + 1):
        writes(loop, head, mean_written(loop, test, head))


def past_then_mean(loop: DirectLoop, test: Tensor) -> None:
    attends(loop, 1, mean_attention(loop, test, 1))
    writes(loop, SECOND_BLOCK, mean_written(loop, test, SECOND_BLOCK))


def mean_before_and_after_a_scale(loop: DirectLoop, test: Tensor) -> None:
    """The head of the second block before it is scaled, with what the first block comes to write after that."""
    loop.weights["value_HED", 0] = loop.weights["value_HED", 0] / 2
    writes(loop, 0, mean_written(loop, test, 0))
    writes(loop, SECOND_BLOCK, mean_written(loop, test, SECOND_BLOCK))
    loop.weights["value_HED", SECOND_BLOCK] = loop.weights["value_HED", SECOND_BLOCK] / 2


def own_attention(loop: DirectLoop, test: Tensor) -> None:
    """What is held on a head itself is not in force when its mean is taken: it writes the mean of its own attention."""
    writes(loop, 0, NOTHING)
    mean = mean_written(loop, test, SECOND_BLOCK)
    attends(loop, SECOND_BLOCK, even())
    writes(loop, SECOND_BLOCK, mean)


SILENT, EVEN, MEAN = "ablate:heads=1:blocks=1", "clamp:heads=2:blocks=1:to=uniform", "ablate:heads=1:blocks=2:put=mean"
PAST = "clamp:heads=3:blocks=2:to=past"
FIRST_PAST, FIRST_MEAN = "clamp:heads=2:blocks=1:to=past", "ablate:heads=1:blocks=1:put=mean"
HALVED = "scale:heads=1:part=values:by=0.5"
CLAMPED = "clamp:heads=1:blocks=2:to=uniform"

CASES: dict[str, tuple[tuple[str, ...], tuple[str, ...], Prepare]] = {
    "a head that the parent holds silent": ((SILENT,), (MEAN,), silent_then_mean),
    "a silent head given before": ((), (SILENT, MEAN), silent_then_mean),
    "a silent head given after": ((), (MEAN, SILENT), silent_then_mean),
    "a pattern that the parent holds": ((EVEN,), (PAST,), even_then_past),
    "a pattern given before": ((), (EVEN, PAST), even_then_past),
    "a pattern given after": ((), (PAST, EVEN), even_then_past),
    "means in both blocks in one action": ((), ("ablate:heads=1,2:put=mean",), means_in_both_blocks),
    "means in both blocks, the second first": (
        (),
        ("ablate:heads=1,2:blocks=2:put=mean", "ablate:heads=1,2:blocks=1:put=mean"),
        means_in_both_blocks,
    ),
    "a past pattern given before": ((), (FIRST_PAST, MEAN), past_then_mean),
    "a past pattern given after": ((), (MEAN, FIRST_PAST), past_then_mean),
    "weights that change between two means": ((), (MEAN, HALVED, FIRST_MEAN), mean_before_and_after_a_scale),
    "its own pattern given before": ((), (SILENT, CLAMPED, MEAN), own_attention),
    "its own pattern given after": ((), (MEAN, CLAMPED, SILENT), own_attention),
    "its own pattern that the parent holds": ((SILENT, CLAMPED), (MEAN,), own_attention),
}


@pytest.mark.parametrize("name", CASES)
def test_means_are_taken_in_the_model_that_the_branch_is(name: str) -> None:
    held, actions, prepare = CASES[name]
    found = branched(run_config(), begun(), actions, held=held)
    loop = direct(found)
    with torch.no_grad():
        prepare(loop, torch.from_numpy(found.test)[:, :-1])
    start = {leaf: tensor.clone() for leaf, tensor in loop.weights.items()}
    train = found.config.train
    loop.train(found.rows, STEPS, lr=train.lr, decay=train.weight_decay, clip=train.clip)
    for (kind, head), wanted in loop.weights.items():
        block, within = divmod(head, HEADS)
        mine = getattr(found.engine.decoder.layers[block].attention, kind).detach()[within]
        assert float((mine - wanted).abs().max()) < CLOSE, f"{kind} of head {within + 1} in block {block + 1}"
    moved = max(float((loop.weights[leaf] - start[leaf]).abs().max()) for leaf in start)
    assert moved > 1e4 * CLOSE, "nothing was trained, so this case tests nothing"


def test_the_weights_are_those_of_the_last_edit_after_means_were_taken() -> None:
    """Means are taken with the weights of their turn, which must not stay in the model."""
    found = [
        branched(run_config(steps=BEGIN), begun(), actions).state().arrays
        for actions in ((MEAN, HALVED, FIRST_MEAN), (HALVED,))
    ]
    for name, array in found[1].items():
        assert (found[0][name] == array).all(), name
