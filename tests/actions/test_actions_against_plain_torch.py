"""Every action against a direct loop in plain torch, on every path that computes it, after 20 steps."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Literal

import pytest
import torch
from branched_runs import STARTED, advanced, branched
from direct_loop import DirectLoop
from tests.conftest import tiny

from headwise.core.seeds import Stream, generator
from headwise.model import kernel
from headwise.store import Checkpoint
from headwise.study.config import RunConfig
from headwise.study.prepared_run import PreparedRun

BEGIN, STEPS = 6, 20
CLOSE = 1e-6
"""Largest difference of a weight. The kernel computes in single precision, which alone makes 4e-7 of it under AdamW."""

Optimiser = Literal["AdamW", "SGD"]


def run_config(path: str, optimiser: Optimiser = "AdamW", *, steps: int = BEGIN + STEPS) -> RunConfig:
    return tiny(
        train__optimizer=optimiser,
        train__momentum=0.9 if optimiser == "SGD" else 0.0,
        train__weight_decay=0.1,
        train__clip=0.3,
        train__steps=steps,
        compute__path=path,
        compute__dtype="float32" if path == "kernel" else "float64",
        **STARTED,
    )


@functools.cache
def begun_with(optimiser: Optimiser) -> Checkpoint:
    """The state after some steps, from which every branch and every direct loop goes on."""
    return advanced(PreparedRun(run_config("reference", optimiser, steps=BEGIN), {})).state()


@pytest.fixture
def begun() -> Checkpoint:
    return begun_with("AdamW")


def direct(begun: Checkpoint, prepared: PreparedRun, *, optimiser: Optimiser = "AdamW") -> DirectLoop:
    scale = prepared.engine.decoder.layers[0].attention.inverse_scale
    return DirectLoop(begun.arrays, heads=3, step=BEGIN, d=6, inverse_scale=scale, optimiser=optimiser)


Prepare = Callable[[DirectLoop, PreparedRun, Checkpoint], None]


def both(head: int) -> list[tuple[str, int]]:
    return [("score_HDD", head), ("value_HED", head)]


def nothing(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    pass


def freeze_values(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    loop.frozen = {("value_HED", 0), ("value_HED", 1)}


def freeze_all(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    loop.frozen = set(both(2))


def tie_first_two(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    def mean(found):
        found = dict(found)
        for name in ("score_HDD", "value_HED"):
            found[name, 0] = (found[name, 0] + found[name, 1]) / 2
            found[name, 1] = found[name, 0].clone()
        return found

    loop.weights, loop.first, loop.second = mean(loop.weights), mean(loop.first), mean(loop.second)
    loop.gradient = mean


def copy_one_to_three(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    for kept in (loop.weights, loop.first, loop.second):
        for name in ("score_HDD", "value_HED"):
            kept[name, 2] = kept[name, 0].clone()


def swap_attention(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    for kept in (loop.weights, loop.first, loop.second):
        kept["score_HDD", 0], kept["score_HDD", 1] = kept["score_HDD", 1], kept["score_HDD", 0]


def reset_second(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    first = PreparedRun(run_config("reference", steps=0), {}).engine.decoder.layers[0].attention
    for name in ("score_HDD", "value_HED"):
        loop.weights[name, 1] = getattr(first, name).detach()[1].clone()
        loop.first[name, 1] = torch.zeros_like(loop.first[name, 1])
        loop.second[name, 1] = torch.zeros_like(loop.second[name, 1])


def halve_values(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    loop.weights["value_HED", 0] = loop.weights["value_HED", 0] / 2


def noise_on_second(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    rng = generator(0, Stream.NOISE, BEGIN, 0, 3, 0, 1)
    for name in ("score_HDD", "value_HED"):
        loop.weights[name, 1] = loop.weights[name, 1] + 0.1 * torch.from_numpy(
            rng.standard_normal(tuple(loop.weights[name, 1].shape))
        )


def towards_group_two(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    direction = torch.zeros(10, 10, dtype=torch.float64)
    for query in range(10):
        lags = [lag for lag in (3, 4) if lag <= query + 1]
        seen = range(1, query + 2)
        for lag in lags or seen:
            direction[query, query + 1 - lag] = 1 / len(lags or seen)
    loop.weights["score_HDD", 0][6:, 6:] += 0.5 * (direction / direction.norm()).T


def towards_third_head(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    gap = [loop.weights[name, 2] - loop.weights[name, 0] for name in ("score_HDD", "value_HED")]
    length = math.sqrt(sum(float((g**2).sum()) for g in gap))
    for name, g in zip(("score_HDD", "value_HED"), gap, strict=True):
        loop.weights[name, 0] = loop.weights[name, 0] + 0.2 * g / length


def silence_second(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    loop.written = lambda head, z: torch.zeros_like(z) if head == 1 else z


def mean_of_second(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    test = torch.from_numpy(prepared.test)[:, :-1]
    mean = loop.heads_of(test, 5)[1][1].mean((0, 1))
    loop.written = lambda head, z: mean.expand_as(z) if head == 1 else z


def on_group_two(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    pattern = torch.zeros(5, 10, dtype=torch.float64)
    for row, query in enumerate(range(5, 10)):
        pattern[row, query + 1 - 3] = pattern[row, query + 1 - 4] = 0.5
    loop.attention = lambda head, a: pattern.expand_as(a) if head == 0 else a


def even(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    pattern = torch.zeros(5, 10, dtype=torch.float64)
    for row, query in enumerate(range(5, 10)):
        pattern[row, : query + 1] = 1 / (query + 1)
    loop.attention = lambda head, a: pattern.expand_as(a)


def as_before(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    test = torch.from_numpy(prepared.test)[:, :-1]
    pattern = loop.heads_of(test, 5)[0][2].mean(0)
    loop.attention = lambda head, a: pattern.expand_as(a) if head == 2 else a


def without_group_one(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    hidden = torch.zeros(5, 10, dtype=torch.bool)
    for row, query in enumerate(range(5, 10)):
        hidden[row, [query, query - 1]] = True
    loop.scores = lambda head, s: s.masked_fill(hidden, -math.inf) if head == 0 else s


def tied_and_silent(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    """The silent head has no gradient of its own, and half of the other's."""
    tie_first_two(loop, prepared, begun)
    silence_second(loop, prepared, begun)


def frozen_and_silent(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    loop.frozen = set(both(1))
    silence_second(loop, prepared, begun)


def even_beyond(masked: set[int]) -> Prepare:
    """The first head is even over all lags that it sees but these."""

    def prepare(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
        pattern = torch.zeros(5, 10, dtype=torch.float64)
        for row, query in enumerate(range(5, 10)):
            seen = [lag for lag in range(1, query + 2) if lag not in masked]
            for lag in seen:
                pattern[row, query + 1 - lag] = 1 / len(seen)
        loop.attention = lambda head, a: pattern.expand_as(a) if head == 0 else a

    return prepare


def first_without(masked: set[int]) -> Prepare:
    """The first head does not see these lags, where others are left."""

    def prepare(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
        hidden = torch.zeros(5, 10, dtype=torch.bool)
        for row, query in enumerate(range(5, 10)):
            if not masked >= set(range(1, query + 2)):
                hidden[row, [query + 1 - lag for lag in masked]] = True
        loop.scores = lambda head, s: s.masked_fill(hidden, -math.inf) if head == 0 else s

    return prepare


def nothing_left(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    for name in ("score_HDD", "value_HED"):
        loop.weights[name, 0] = torch.zeros_like(loop.weights[name, 0])


def one_copied_and_frozen(loop: DirectLoop, prepared: PreparedRun, begun: Checkpoint) -> None:
    copy_one_to_three(loop, prepared, begun)
    loop.frozen = set(both(2))


CASES: dict[str, tuple[tuple[str, ...], Prepare]] = {
    "sham": (("sham",), nothing),
    "freeze values": (("freeze:heads=1,2:part=values",), freeze_values),
    "freeze": (("freeze:heads=3",), freeze_all),
    "tie": (("tie:heads=1,2",), tie_first_two),
    "copy": (("copy:1->3",), copy_one_to_three),
    "swap": (("swap:heads=1,2:part=attention",), swap_attention),
    "reset": (("reset:heads=2",), reset_second),
    "scale": (("scale:heads=1:part=values:by=0.5",), halve_values),
    "perturb": (("perturb:heads=2:size=0.1:draw=3",), noise_on_second),
    "perturb to a group": (("perturb:heads=1:size=0.5:along=group2",), towards_group_two),
    "perturb to a head": (("perturb:heads=1:size=0.2:along=head3",), towards_third_head),
    "ablate": (("ablate:heads=2",), silence_second),
    "ablate to the mean": (("ablate:heads=2:put=mean",), mean_of_second),
    "clamp to a group": (("clamp:heads=1:to=group2",), on_group_two),
    "clamp to uniform": (("clamp:to=uniform",), even),
    "clamp to the past": (("clamp:heads=3:to=past",), as_before),
    "block": (("block:heads=1:groups=1",), without_group_one),
    "scale to nothing": (("scale:heads=1:by=0",), nothing_left),
    "copy, then freeze": (("copy:1->3", "freeze:heads=3"), one_copied_and_frozen),
    "freeze and ablate": (("freeze:heads=2", "ablate:heads=2"), frozen_and_silent),
    "ablate and freeze": (("ablate:heads=2", "freeze:heads=2"), frozen_and_silent),
    "tie and ablate": (("tie:heads=1,2", "ablate:heads=2"), tied_and_silent),
    "ablate and tie": (("ablate:heads=2", "tie:heads=1,2"), tied_and_silent),
    "two patterns": (("clamp:heads=1:to=group1", "clamp:heads=1:to=group2"), on_group_two),
    "two means": (("ablate:heads=2:put=mean", "ablate:heads=2:put=mean"), mean_of_second),
    "a mean and then nothing": (("ablate:heads=2:put=mean", "ablate:heads=2"), silence_second),
    "two masks": (("block:heads=1:groups=1", "block:heads=1:lags=3,4"), first_without({1, 2, 3, 4})),
    "masks that leave some queries nothing": (
        ("block:heads=1:groups=1", "block:heads=1:groups=2", "block:heads=1:groups=3"),
        first_without({1, 2, 3, 4, 5, 6}),
    ),
    "a pattern and a mask": (("clamp:heads=1:to=uniform", "block:heads=1:groups=1"), even_beyond({1, 2})),
    "a mask and a pattern": (("block:heads=1:groups=1", "clamp:heads=1:to=uniform"), even_beyond({1, 2})),
    "a pattern and all of it masked": (("clamp:heads=1:to=group1", "block:heads=1:groups=1"), even_beyond({1, 2})),
}


@pytest.mark.parametrize("path", ["reference", "torch", "kernel"])
@pytest.mark.parametrize("optimiser", ["AdamW", "SGD"])
@pytest.mark.parametrize("name", CASES)
def test_an_action_is_what_it_says(name: str, optimiser: Optimiser, path: str) -> None:
    if path == "kernel" and (problem := kernel.missing()) is not None:
        pytest.skip(problem)
    actions, prepare = CASES[name]
    begun = begun_with(optimiser)
    found = branched(run_config(path, optimiser), begun, actions)
    loop = direct(begun, found, optimiser=optimiser)
    prepare(loop, found, begun)
    start = {leaf: tensor.clone() for leaf, tensor in loop.weights.items()}
    train = found.config.train
    loop.train(found.rows, STEPS, lr=train.lr, decay=train.weight_decay, clip=train.clip)
    attention = found.engine.decoder.layers[0].attention
    for (kind, head), wanted in loop.weights.items():
        difference = float((getattr(attention, kind).detach()[head].double() - wanted).abs().max())
        assert difference < CLOSE, f"{kind} of head {head + 1}: {difference:.1e}"
    moved = max(float((loop.weights[leaf] - start[leaf]).abs().max()) for leaf in start)
    assert moved > 1e4 * CLOSE, "nothing was trained, so this case tests nothing"


@pytest.mark.parametrize("name", sorted(set(CASES) - {"sham"}))
def test_no_action_is_the_sham(name: str, begun: Checkpoint) -> None:
    """Every case above moves the weights away from those of a run to which nothing is done."""
    plain = branched(run_config("torch"), begun, ()).engine.decoder.layers[0].attention
    acted = branched(run_config("torch"), begun, CASES[name][0]).engine.decoder.layers[0].attention
    assert float((plain.score_HDD - acted.score_HDD).detach().abs().max()) > 1e-4


def test_frozen_weights_and_moments_do_not_change_by_a_bit(begun: Checkpoint) -> None:
    for path in ("reference", "torch", "kernel"):
        if path == "kernel" and kernel.missing() is not None:
            continue
        state = branched(run_config(path), begun, ("freeze:heads=2",)).state()
        for name, array in state.arrays.items():
            if not name.endswith(".step"):
                assert (array[1] == begun.arrays[name][1].astype(array.dtype)).all(), name
                assert (array[0] != begun.arrays[name][0].astype(array.dtype)).any(), name


def test_tied_heads_stay_equal_to_the_bit(begun: Checkpoint) -> None:
    tied = branched(run_config("torch"), begun, ("perturb:heads=1:size=0.1", "tie")).engine.decoder.layers[0].attention
    assert torch.equal(tied.score_HDD[0], tied.score_HDD[1])
    assert torch.equal(tied.value_HED[0], tied.value_HED[2])


def test_until_ends_what_is_held(begun: Checkpoint) -> None:
    """Held for ten steps and then free is the direct loop of ten steps held and ten steps free."""
    found = branched(run_config("reference"), begun, ("freeze:heads=1:until=16",))
    loop, train = direct(begun, found), found.config.train
    loop.frozen = set(both(0))
    loop.train(found.rows, 10, lr=train.lr, decay=train.weight_decay, clip=train.clip)
    loop.frozen = set()
    loop.train(found.rows, 10, lr=train.lr, decay=train.weight_decay, clip=train.clip)
    value = found.engine.decoder.layers[0].attention.value_HED.detach()
    assert float((value[0] - loop.weights["value_HED", 0]).abs().max()) < 1e-6


def test_a_clamped_head_is_measured_as_clamped(begun: Checkpoint) -> None:
    found = branched(run_config("torch"), begun, ("clamp:heads=1:to=group2", "ablate:heads=2"))
    measured = found.evaluator.measure(batch_loss=1.0, rate=0.1).variables
    assert measured["attention_by_group"][0, 0] == pytest.approx([0, 1, 0], abs=1e-6)
    weights = found.engine.decoder.layers[0].attention.value_HED
    assert float(weights[1].detach().abs().max()) > 0, "overrides are taken out after every pass"
