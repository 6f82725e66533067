"""The tutorial as a program, at tiny scale, and the picture's own numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from three_lags import BLOCKS, HEADS, LAGS, SCRIPT, read, trained

from headwise.core.trajectory import assemble
from headwise.view.sheets.heads_by_lag import heads_by_lag, nearest_lags, settled_lag
from headwise.view.write import write_sheet


def test_the_tutorial_runs(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    tiny = ["--steps", "8", "--width", "12", "--sentences", "4", "--every", "2", "--out", str(tmp_path)]
    answer = subprocess.run([sys.executable, str(SCRIPT), *tiny], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert "GPT2LMHeadModel (hugging_face): 1 layer of 3 heads, lags up to 32" in answer.stdout
    assert (tmp_path / "heads_by_lag.png").read_bytes().startswith(b"\x89PNG")
    assert len(json.loads((tmp_path / "report.json").read_text())["specialised"]["heads"]) == 3


def test_the_picture_shows_where_each_head_settled(tmp_path: Path) -> None:
    shares = np.full((20, 2, 2, 7), 0.1)
    shares[:, 0, 1, 4] = 0.4
    shares[-4:, 0, 1] = np.eye(7)[2]
    lags = list(range(-2, 5))
    trajectory = assemble({"attention_by_lag": shares}, {"step": np.arange(20), "lag": lags})
    assert settled_lag(trajectory, block=1, head=2) == (0, 1.0)
    assert nearest_lags(trajectory, 3)["lag"].values.tolist() == [-1, 0, 1, 2, 3]
    write_sheet(heads_by_lag(trajectory, lags=3), tmp_path / "heads.svg")
    assert (tmp_path / "heads.svg").read_text().startswith("<?xml")


def look_at(shares: dict[tuple[int, int], tuple[int, float]], rises: dict[tuple[int, int], float], **pairs: float):
    """One look: the lag on which each head has most, the rise of the loss without it, one pair of block 2."""
    by_lag = np.full((BLOCKS, HEADS, 9), 0.02)
    for place, (lag, share) in shares.items():
        by_lag[place][lag] = share
    importance = np.full((BLOCKS, HEADS), 0.01)
    for place, rise in rises.items():
        importance[place] = rise
    more = np.zeros((BLOCKS, HEADS, HEADS))
    more[1, 2, 3] = more[1, 3, 2] = pairs.get("more", 0.0)
    return xr.Dataset(
        {
            "attention_by_lag": (("block", "head", "lag"), by_lag),
            "head_importance": (("block", "head"), importance),
            "pair_redundancy": (("block", "head", "other"), more),
            "pair_redundancy_error": (("block", "head", "other"), np.full_like(more, 0.02)),
        },
        coords={"lag": np.arange(9)},
    )


def test_the_two_readings_of_the_three_most_important_heads() -> None:
    three = {(0, 0): (2, 0.9), (0, 1): (5, 0.8), (1, 2): (8, 0.7)}
    plain = read(look_at(three, {(0, 0): 2.0, (0, 1): 1.0, (1, 2): 0.5}))
    assert (plain.to_the_letter, plain.with_sharing) == (True, True)
    other = read(look_at(three, {(0, 0): 2.0, (0, 1): 1.0, (1, 1): 0.5}))
    assert (other.to_the_letter, other.with_sharing) == (False, False), "a head that holds nothing is among the three"
    four = three | {(1, 3): (8, 0.65), (0, 2): (2, 0.6)}
    rises = {(0, 0): 2.0, (0, 1): 1.0, (0, 2): 0.5}
    assert not read(look_at(four, rises)).with_sharing, "two heads on lag 8 that do not stand in for each other"
    shared = read(look_at(four, rises, more=0.3))
    assert (shared.to_the_letter, shared.with_sharing) == (False, True)
    assert not read(look_at({(0, 0): (2, 0.9), (0, 1): (5, 0.8)}, rises, more=0.3)).with_sharing, "nobody holds lag 8"


LEARNED = {**dict.fromkeys([(0, 1000), (1, 1000), (3, 2000), (6, 1000), (7, 1000), (8, 1000)], LAGS), (2, 1000): (2, 5)}
"""The lags that some head holds, by seed and steps; the tutorial itself has 600 steps."""


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("ignore:headwise. head importance takes:UserWarning")
@pytest.mark.parametrize(("seed", "steps"), LEARNED)
def test_the_heads_that_hold_the_three_lags_are_the_three_most_important(seed: int, steps: int) -> None:
    """Two blocks of four heads on the tutorial's language; two minutes for a thousand steps.

    Where all lags are held this is so to the letter. With seed 2 nobody holds lag 8, so the statement has nothing to
    say; what is left of it, that each of the three most important heads holds a lag, was read afterwards.
    """
    found = read(trained(seed, steps=steps).sel(step=steps))
    assert tuple(lag for lag in LAGS if found.holders[lag]) == LEARNED[seed, steps]
    assert found.to_the_letter == (LEARNED[seed, steps] == LAGS), found
    assert set(found.order[:3]) <= {place for places in found.holders.values() for place in places}
    assert found.importance[found.order[2]] > 2 * found.importance[found.order[4]]
