"""What a report says of head importance, on numbers whose meaning is known."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from headwise.core.trajectory import assemble
from headwise.phases.detection import detect
from headwise.phases.importance import read_importance
from headwise.phases.importance_text import importance_parts, importance_sentences


def measured(
    rise: np.ndarray, *, error: float = 0.01, steps: list[int] | None = None, pairs: np.ndarray | None = None
) -> xr.Dataset:
    """A trajectory of (looks, blocks, heads) rises."""
    values = {
        "head_importance": rise,
        "head_importance_zero": 2 * rise,
        "head_importance_error": error + 0 * rise,
        "attention_entropy": np.ones_like(rise),
    }
    if pairs is not None:
        values |= {"pair_redundancy": pairs, "pair_redundancy_error": error + 0 * pairs}
    return assemble(values, {"step": steps or list(range(0, 10 * len(rise), 10))})


def told(trajectory: xr.Dataset) -> list[str]:
    return list(importance_sentences(read_importance(trajectory)))


def test_needed_heads_are_told_by_their_rise_and_since_when() -> None:
    rise = np.zeros((6, 2, 2))
    rise[3:, 0, 1] = [0.3, 0.5, 0.4]
    rise[1:, 1, 0] = [0.02, 0.7, 0.8, 0.9, 0.9]
    rise[:, 1, 1] = 0.008
    trajectory = measured(rise)
    found = read_importance(trajectory)
    assert found is not None
    assert [(one.block, one.head) for one in found.heads] == [(2, 1), (1, 2), (2, 2), (1, 1)]
    assert found.needed == 2
    assert [one.since for one in found.heads] == [20.0, 30.0, None, None]
    assert told(trajectory) == [
        "at 50 the loss rises without L1H0 by 0.9 (±0.01) nats, without L0H1 by 0.4 (±0.01); without any one of the "
        "other 2 by at most 0.008",
        "L1H0 is needed from 20 on (between 10 and 20): at every measured look since then the loss rises without it by "
        "at least half as much as at 50",
        "L0H1 is needed from 30 on (between 20 and 30): at every measured look since then the loss rises without it by "
        "at least half as much as at 50",
    ]


def test_a_head_that_is_needed_for_a_time() -> None:
    rise = np.zeros((6, 1, 2))
    rise[:, 0, 0] = 0.5
    rise[2:5, 0, 1] = [0.3, 0.4, 0.2]
    assert "head 2 was needed and is no longer: without it the loss rises by 0.4 nats at 30, by 0 at 50" in told(
        measured(rise)
    )
    rise[2, 0, 1] = rise[4, 0, 1] = 0.0
    assert not any("no longer" in sentence for sentence in told(measured(rise))), "one look alone may be luck"


def test_looks_that_did_not_measure_it_are_not_read() -> None:
    rise = np.full((5, 1, 2), np.nan)
    rise[[0, 3]] = [[[0.0, 0.0]], [[0.5, 0.0]]]
    found = read_importance(measured(rise))
    assert found is not None
    assert (found.step, found.looks) == (30.0, 2)
    assert found.heads[0].interval == (0.0, 30.0)
    assert read_importance(measured(np.full((3, 1, 2), np.nan))) is None
    assert read_importance(measured(rise).drop_vars("head_importance")) is None
    assert importance_parts(measured(np.full((3, 1, 2), np.nan))) == []


@pytest.mark.parametrize("seed", range(20))
def test_noise_alone_is_no_finding(seed: int) -> None:
    """Rises that are nothing but their errors: no head is told to be needed in most draws, and none once."""
    rng = np.random.default_rng(seed)
    rise = 0.01 * rng.standard_normal((40, 2, 4))
    pairs = 0.01 * rng.standard_normal((40, 2, 4, 4))
    trajectory = measured(rise, error=0.01, pairs=(pairs + pairs.swapaxes(-1, -2)) / np.sqrt(2))
    found = read_importance(trajectory)
    assert found is not None
    assert (found.once, found.stand_ins) == ((), ())
    assert found.needed == int((rise[-1] > 0.03).sum())
    if not found.needed:
        assert told(trajectory)[0].startswith("at 390 no head is needed beyond doubt: without any one of 8")


def test_one_sequence_has_no_error() -> None:
    rise = np.full((3, 1, 2), 0.4)
    assert told(measured(rise, error=np.nan)) == [
        "cannot tell: which heads the model needs at 20: one sequence does not say how sure its loss is"
    ]


def test_heads_that_stand_in_for_each_other() -> None:
    rise = np.tile([[0.1, 0.05, 1.0]], (2, 1, 1))
    pairs = np.zeros((2, 1, 3, 3))
    pairs[-1, 0, 0, 1] = pairs[-1, 0, 1, 0] = 0.6
    pairs[-1, 0, 0, 2] = pairs[-1, 0, 2, 0] = 0.5
    found = read_importance(measured(rise, pairs=pairs))
    assert found is not None
    (pair,) = found.stand_ins
    assert (pair.heads, pair.alone) == ((1, 2), (0.1, 0.05))
    assert pair.both == pytest.approx(0.75)
    assert told(measured(rise, pairs=pairs))[-1] == (
        "head 1 and head 2 stand in for each other at 10: the loss rises by 0.75 nats without both, by 0.1 and 0.05 "
        "without one of them"
    )


def test_the_report_has_it_in_words_and_in_json() -> None:
    rise = np.zeros((6, 1, 2))
    rise[:, 0, 1] = 0.5
    report = detect(measured(rise))
    assert "at 50 the loss rises without head 2 by 0.5 (±0.01) nats" in " ".join(str(report).split())
    found = json.loads(json.dumps(report.to_json()))["importance"]
    assert (found["step"], found["looks"], found["needed"]) == (50.0, 6, 1)
    assert found["heads"][0] == {
        "block": 1, "head": 2, "rise": 0.5, "error": 0.01, "zero": 1.0, "since": 0.0, "interval": [0.0, 0.0]
    }  # fmt: skip
    assert detect(measured(rise).drop_vars("head_importance")).to_json()["importance"] is None
