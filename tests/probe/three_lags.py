"""Two blocks of four heads trained on the tutorial's language, and how its heads are compared with their importance.

A head *holds* a lag where more than `HELD` of its attention lies on it; several may hold one lag. Two readings
of "the heads that hold the three lags are the three most important", fixed before the seeds from 2 on were trained:

- to the letter: the three heads with the largest share on each lag are, as a set, the three with the largest rise of
  the loss when replaced by their mean;
- with sharing: each of the three most important heads holds a lag, and a lag that none of these holds is held by more
  heads, of which at least two of one block stand in for each other: the loss rises by more without both than without
  each, by more than `ERRORS` standard errors.

How long to train was to be chosen by seeds 3, 4 and 5 alone, by who holds what alone: the first of 1000, 2000, 3000 and
4000 steps after which a head holds each of the three lags with all of them; seeds 6, 7 and 8 were to be judged then,
once. No length was found: with seed 3 all lags are held from 2000 steps on, with seed 4 nobody holds lag 8 after 2000
(7 % at most), and longer trainings of seeds 4 and 5 were not made. So the readings are judged where the three lags are
held: seeds 0 and 1 after 1000 steps, seed 3 after 2000, 3000 and 4000.

For seeds 6, 7 and 8, unseen when this was written: each is trained until a head holds each of the three lags after
1000, 2000, 3000 or 4000 steps, and judged there, once, to the letter. Where no head holds a lag after 4000 steps the
statement has nothing to say about that seed. It stands if it is true of every seed it speaks of, and speaks of one at
least. `python tests/probe/three_lags.py SEED` does that for one seed. All three hold the three lags after 1000 steps,
and of all three it is true to the letter.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import xarray as xr

SCRIPT = Path(__file__).parents[2] / "examples" / "watch_gpt2.py"
LAGS = (2, 5, 8)
LENGTHS = (1000, 2000, 3000, 4000)
HELD = 0.4
ERRORS = 4.0
BLOCKS, HEADS = 2, 4
Place = tuple[int, int]


@dataclass(frozen=True)
class Reading:
    """What one look says about the two readings."""

    importance: dict[Place, float]
    order: list[Place]
    holders: dict[int, list[Place]]
    """By lag, the heads with more than `HELD` of their attention on it, largest share first."""
    to_the_letter: bool
    with_sharing: bool


def tutorial() -> ModuleType:
    """The example as a module."""
    found = importlib.util.spec_from_file_location("watch_gpt2", SCRIPT)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def trained(seed: int, *, steps: int, until_held: bool = False) -> xr.Dataset:
    """The watched training of one seed; importance of heads and pairs every 200 steps.

    With `until_held` it ends at the first of `LENGTHS` after which a head holds each of the three lags.
    """
    transformers = pytest.importorskip("transformers")
    import torch

    from headwise.probe import watch

    example = tutorial()
    language, task = example.LANGUAGE, example.build_task(example.LANGUAGE, 0)
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=language.d,
        n_positions=language.w + language.T,
        n_embd=64,
        n_layer=BLOCKS,
        n_head=HEADS,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = transformers.GPT2LMHeadModel(config)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    shown = example.sentences(task, 32, step=0)
    with watch(model, every=50, tokens=shown, importance=4, importance_of="pairs") as w:
        for step in range(1, steps + 1):
            w.step(example.training_step(model, optimiser, example.sentences(task, 128, step=step)))
            if until_held and step in LENGTHS and all(read(w.trajectory.sel(step=step)).holders.values()):
                break
    return w.trajectory


def read(look: xr.Dataset) -> Reading:
    """Both readings of one look, a trajectory at one step."""
    places = list(np.ndindex(BLOCKS, HEADS))
    importance = {place: float(look["head_importance"].values[place]) for place in places}
    order = sorted(places, key=lambda place: -importance[place])
    top = order[:3]
    shares = {lag: look["attention_by_lag"].sel(lag=lag).values for lag in LAGS}
    holders = {
        lag: sorted((p for p in places if of_lag[p] > HELD), key=lambda p, of_lag=of_lag: -of_lag[p])
        for lag, of_lag in shares.items()
    }
    held = all(holders.values())
    to_the_letter = held and {heads[0] for heads in holders.values()} == set(top)
    every = {place for heads in holders.values() for place in heads}
    shared = all(set(heads) & set(top) or _stand_in(look, heads) for heads in holders.values())
    return Reading(importance, order, holders, to_the_letter, held and set(top) <= every and shared)


def _stand_in(look: xr.Dataset, heads: list[Place]) -> bool:
    """Whether two of these heads are in one block and stand in for each other."""
    more, error = look["pair_redundancy"].values, look["pair_redundancy_error"].values
    return any(
        one[0] == two[0] and more[one[0], one[1], two[1]] > ERRORS * error[one[0], one[1], two[1]]
        for one, two in combinations(heads, 2)
    )


if __name__ == "__main__":
    seed = int(sys.argv[1])
    trajectory = trained(seed, steps=LENGTHS[-1], until_held=True)
    last = int(trajectory["step"][-1])
    print(f"seed {seed}, after {last} steps:", read(trajectory.sel(step=last)))
