"""Sketches of judged curves: those of the run, thinned, kept beside the verdicts and read back."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from headwise.core.errors import HeadwiseError
from headwise.paper.entry import Claim
from headwise.paper.manifest import ENTRIES
from headwise.paper.sketches import KINDS, PLACES, Kept, add_sketches, read_sketches, sketch_of

sys.path.insert(0, str(Path(__file__).parents[1] / "browser"))
from synthetic_runs import trajectory


def claim(name: str) -> Claim:
    entry = ENTRIES[name]
    assert isinstance(entry, Claim)
    return entry


def test_kinds_are_of_claims_that_there_are() -> None:
    assert set(KINDS) <= {name for name, entry in ENTRIES.items() if isinstance(entry, Claim)}


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if isinstance(entry, Claim)])
def test_every_claim_with_runs_has_curves(name: str) -> None:
    runs = {experiment: trajectory(seed=seed) for seed, experiment in enumerate(claim(name).experiments)}
    sketch = sketch_of(claim(name), runs)
    assert (sketch is None) == (not runs)
    if sketch is not None:
        assert len(sketch.x) == PLACES
        assert all(len(curve.y) == PLACES and np.isfinite(curve.y).all() for curve in sketch.curves)


def test_a_sketch_follows_the_run() -> None:
    run = trajectory()
    sketch = sketch_of(claim("order"), {"minimal": run})
    assert sketch is not None
    for curve, name in zip(sketch.curves, ("prefix_1", "prefix_2", "prefix_3"), strict=True):
        whole = np.interp(sketch.x, run["step"].values, run["kl"].sel(predictor=name).values)
        np.testing.assert_allclose(curve.y, whole, rtol=5e-3)
    heads = sketch_of(claim("competition"), {"minimal": run})
    assert heads is not None
    shares = run["attention_by_group"].values[:, 0, :, 0]
    assert [curve.y[-1] for curve in heads.curves] == pytest.approx(shares[-1].tolist(), rel=1e-3)


def test_the_best_predictors_are_drawn_where_they_were_recorded() -> None:
    labels = ("bayes_1", "bayes_2", "prefix_3")
    sketch = sketch_of(claim("order"), {"minimal": trajectory(labels=labels)})
    assert sketch is not None
    assert [curve.name for curve in sketch.curves] == ["b₁", "b₂"]


def test_runs_without_the_curves_have_no_sketch() -> None:
    bare = trajectory().drop_vars(["kl", "kl_reverse", "excess_loss", "attention_by_group"])
    for name in ("order", "competition", "hierarchy", "windows"):
        assert sketch_of(claim(name), dict.fromkeys(claim(name).experiments, bare)) is None


def test_sketches_of_earlier_commands_stay(tmp_path: Path) -> None:
    drawn = [sketch_of(claim("order"), {"minimal": trajectory(seed=seed)}) for seed in range(3)]
    first, again, other = (sketch for sketch in drawn if sketch is not None)
    add_sketches([Kept("order", "published", "quick", first)], tmp_path)
    add_sketches([Kept("order", "text", "quick", other)], tmp_path)
    kept = add_sketches([Kept("order", "published", "quick", again)], tmp_path)
    assert kept == [Kept("order", "text", "quick", other), Kept("order", "published", "quick", again)]
    assert read_sketches(tmp_path) == kept
    assert json.loads((tmp_path / "sketches.json").read_text())["schema"] == 1
    (tmp_path / "sketches.json").write_text('{"sketches": [{"claim": "order"}]}')
    with pytest.raises(HeadwiseError, match=r"sketches\.json is not a file of sketches"):
        read_sketches(tmp_path)
