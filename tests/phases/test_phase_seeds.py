"""Many seeds: matching of heads, medians, intervals, and who disagrees."""

from __future__ import annotations

import json

from phase_examples import three_stage_run

from headwise.core.trajectory import stack_seeds
from headwise.phases.detection import detect_seeds
from headwise.phases.seeds_report import SeedsReport

ORDERS = [(0, 1, 2), (2, 0, 1), (1, 2, 0), (0, 2, 1)]


def seeds_report() -> SeedsReport:
    runs = [three_stage_run(seed=10 + i, order=order) for i, order in enumerate(ORDERS)]
    runs[3] = runs[3].sel(step=slice(0, 600))
    return detect_seeds(runs)


def test_heads_are_matched_by_what_they_do() -> None:
    report = seeds_report()
    assert report.names == (10, 11, 12, 13)
    for order, matched in zip(ORDERS[:3], report.matching[:3], strict=True):
        assert matched == tuple(head + 1 for head in order)


def test_medians_shares_and_disagreements() -> None:
    report = seeds_report()
    plain = report.to_json()
    json.dumps(plain, allow_nan=False)
    first, second = plain["offshoots"]
    assert (first["from"], first["to"], first["head"], first["share"]) == (1, 2, 2, 1.0)
    assert (second["from"], second["to"], second["head"], second["share"]) == (1, 3, 3, 0.75)
    assert first["interval"][0] <= first["step"] <= first["interval"][1]
    assert [len(plain["stages"][name]) for name in ("function", "loss", "heads")] == [3, 3, 3]
    assert plain["stages"]["heads"][0]["share"] == 0.75
    assert {seed for seed, _ in report.disagreements} == {13}
    assert any("offshoots are 1 to 2 where most seeds have 1 to 2, 1 to 3" in how for _, how in report.disagreements)
    assert [c["share"] for c in plain["compensation"]] == [1.0, 0.75]
    assert "seed 13" in str(report)


def test_a_seed_dimension_is_the_same_as_a_list() -> None:
    runs = [three_stage_run(order=order) for order in ORDERS[:2]]
    stacked = detect_seeds(stack_seeds(runs, [4, 9]))
    assert stacked.names == (4, 9)
    listed = detect_seeds(runs)
    assert listed.names == (1, 2)
    assert stacked.to_json()["offshoots"] == listed.to_json()["offshoots"]
