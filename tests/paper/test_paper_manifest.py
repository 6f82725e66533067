"""The manifest holds every claim and figure of the paper, each with a valid experiment and a stated threshold."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from headwise.core.errors import ConfigError
from headwise.paper import manifest
from headwise.paper.entry import Claim, Figure
from headwise.paper.manifest import ENTRIES, HEADLINE, select
from headwise.paper.plan import Plan, cost
from headwise.paper.scale import at_scale
from headwise.study.config import Preset, RunConfig
from headwise.study.cost import estimate_seconds, estimate_wall
from headwise.study.experiments import experiment
from headwise.study.run_location import run_location

CLAIMS = {
    "representation": "sec:representation",
    "symmetry": "sec:representation",
    "gauge": "app:identifiability",
    "order": "fig:kl",
    "windows": "fig:kl",
    "joint": "sec:incremental",
    "competition": "fig:attention",
    "offshoot": "fig:attention",
    "specialisation": "fig:attention",
    "diagonal": "fig:attention",
    "positions": "sec:representation",
    "ladder": "sec:minimal",
    "init-scale": "fig:ablations",
    "hierarchy": "fig:ablations",
    "extra-heads": "sec:minimal",
    "data-size": "fig:generalization",
    "early-stop": "fig:generalization",
    "overfit-structure": "sec:generalization",
    "online": "app:infinite_data",
    "reverse": "app:reverse_order",
    "weight-decay": "app:weight_decay",
    "depth": "fig:2layer-minimal",
    "alpha": "fig:kl-non-uniform-alphas",
    "overlap": "fig:kl-overlapping-4heads",
    "sgd": "fig:kl-sgd-full-one-layer",
    "flow-stages": "fig:simulations",
    "flow-compensation": "fig:simulations",
    "flow-theory": "fig:theory_vs_regression",
    "flow-competition": "app:simulations",
    "flow-decay": "app:simulations:transformer",
    "flow-exchange": "fig:collaboration",
    "flow-values-first": "sec:cooperative",
    "head-dynamics": "fig:collaboration",
    "uniform-start": "fig:attention",
    "others-stay": "fig:attention",
    "last-curve": "fig:kl",
    "overfit-values": "sec:generalization",
    "elsewhere": "app:simulations:transformer",
    "handover": "fig:collaboration",
    "overlap-order": "fig:attention-four-heads-overlapping-intervals",
    "reverse-easier": "app:reverse_order",
    "heads-reverse": "app:reverse_order",
    "heads-alpha": "fig:attention-non-uniform-alphas",
    "heads-overlap": "fig:attention-three-heads-overlapping-intervals",
    "heads-init": "fig:ablations",
    "heads-data": "fig:generalization",
    "heads-sgd": "fig:attention-sgd-full-one-layer",
    "theorems": "sec. 3",
}
"""What the paper claims, and the label of the section or figure in which it does."""

FULL_MODEL = {
    "order-full": "fig:kl",
    "competition-full": "fig:attention",
    "offshoot-full": "fig:attention",
    "specialisation-full": "fig:attention",
    "depth-full": "fig:2layer-full",
    "uniform-start-full": "fig:attention",
    "others-stay-full": "fig:attention",
    "last-curve-full": "fig:kl",
    "joint-full": "sec:incremental",
}
"""Claims of the paper about the full decoder that are made for the minimal model above."""

OTHER_RUNS = {"hierarchy-small": "fig:ablations", "early-stop-ample": "fig:generalization"}
"""The same claims from runs of our own."""

ALL_CLAIMS = CLAIMS | FULL_MODEL | OTHER_RUNS

FIGURES_OF_THE_PAPER = {
    "fig:main",
    "fig:attention",
    "fig:kl",
    "fig:ablations",
    "fig:generalization",
    "fig:simulations",
    "fig:theory_vs_regression",
    "fig:collaboration",
    "fig:attention-infinite-data",
    "fig:plots-infinite-data",
    "fig:attention-reversed",
    "fig:plots-reversed",
    "fig:2layer-minimal",
    "fig:2layer-full",
    "fig:kl-non-uniform-alphas",
    "fig:attention-non-uniform-alphas",
    "fig:kl-overlapping-4heads",
    "fig:attention-three-heads-overlapping-intervals",
    "fig:attention-four-heads-overlapping-intervals",
    "fig:kl-sgd-full-one-layer",
    "fig:attention-sgd-full-one-layer",
}
"""Every label of a figure in the paper's source."""

SECTIONS_OF_THE_PAPER = {
    "sec:representation",
    "sec:incremental",
    "sec:minimal",
    "sec:generalization",
    "sec:cooperative",
    "app:identifiability",
    "app:simulations",
    "app:simulations:transformer",
    "app:infinite_data",
    "app:reverse_order",
    "app:weight_decay",
}
"""The labels of sections in the paper's source that make a claim."""


def labels_of(entry: Claim | Figure) -> set[str]:
    """The labels of the paper that an entry names."""
    return {word for word in entry.label.replace(",", " ").split() if word.startswith(("fig:", "sec:", "app:"))}


def test_the_claims_are_those_of_the_paper() -> None:
    """One that is dropped, renamed or added without a place in the paper fails here."""
    assert {name for name, entry in ENTRIES.items() if isinstance(entry, Claim)} == set(ALL_CLAIMS)


@pytest.mark.parametrize(("name", "place"), ALL_CLAIMS.items())
def test_every_claim_has_its_place_a_quantity_and_a_threshold(name: str, place: str) -> None:
    claim = ENTRIES[name]
    assert isinstance(claim, Claim)
    assert claim.label.startswith(place)
    assert len(claim.threshold) > 1
    assert claim.quantity
    assert claim.about
    if claim.experiments:
        assert claim.unit


def test_every_figure_of_the_paper_is_drawn_once_and_no_label_is_invented() -> None:
    figures = [entry for entry in ENTRIES.values() if isinstance(entry, Figure)]
    drawn = [label for entry in figures for label in labels_of(entry) if label.startswith("fig:")]
    assert sorted(drawn) == sorted(FIGURES_OF_THE_PAPER)
    named = {label for entry in ENTRIES.values() for label in labels_of(entry)}
    assert named - FIGURES_OF_THE_PAPER == SECTIONS_OF_THE_PAPER


def test_entries_of_one_name_would_hide_each_other() -> None:
    assert len(ENTRIES) == len(manifest._ALL)
    assert set(HEADLINE) <= set(ENTRIES)


def test_the_ladder_is_a_figure_and_a_table() -> None:
    assert [ENTRIES[name].kind for name in ("fig-ladder", "table-ladder")] == ["figure", "table"]


@pytest.mark.parametrize(
    ("scale", "preset"), list(itertools.product(("quick", "paper"), ("published", "redrawn", "text")))
)
def test_every_run_is_valid_at_every_scale(scale: str, preset: Preset) -> None:
    for entry in ENTRIES.values():
        for config in entry.configs(preset, scale, 1).values():  # type: ignore[arg-type]
            assert RunConfig.model_validate(config.model_dump()) == config
            assert config.seed == 1
            assert estimate_seconds(config) > 0


def test_paper_scale_is_the_papers_size() -> None:
    """A batch of 3000, or all sequences where they are fewer, in every reading; as many steps as the figures show."""
    for entry, preset in itertools.product(ENTRIES.values(), ("published", "redrawn", "text")):
        for config in entry.configs(preset, "paper", 0).values():
            assert config.train.batch == min(3000, config.train.samples)
            assert config.measure.test_samples == 3000
            assert config.train.steps >= 1000
            assert 1 in config.measure.at.steps(config.train.steps)
    for name, steps in (("minimal", 2000), ("online", 2000), ("full", 1000), ("sgd", 6000)):
        assert at_scale(experiment(name), "paper", seed=0).train.steps == steps


def test_seeds_and_draws_of_the_paper_at_its_own_size(tmp_path: Path) -> None:
    plan = Plan(tuple(ENTRIES.values()), ("published", "redrawn"), "paper", None, tmp_path, everything=True)
    seeds = {(entry.name, preset): plan.seeds_of(entry, preset) for entry, preset in plan.pairs()}
    assert seeds["order", "published"] == seeds["order-full", "published"] == (6, 7, 8)
    assert seeds["reverse", "published"] == seeds["depth", "published"] == (6,)
    assert seeds["order", "redrawn"] == (6, 7, 8, 9, 10)
    assert seeds["flow-stages", "published"] == (0, 1, 2)
    assert seeds["theorems", "published"] == (0,)
    quick = Plan(tuple(ENTRIES.values()), ("published",), "quick", None, tmp_path)
    assert quick.seeds_of(ENTRIES["order"], "published") == (0, 1, 2)
    for name in ("order-full", "windows", "depth", "early-stop", "ladder", "sgd"):
        assert (name, "redrawn") not in seeds
        assert any(Plan(tuple(select([name])), ("redrawn",), "paper", None, tmp_path).pairs())
    redrawn = [config for config in plan.runs() if config.preset == "redrawn"]
    assert {config.seed for config in redrawn} == {6, 7, 8, 9, 10}
    assert not any(config.measure.windows or config.model.embedding == "learned" for config in redrawn)


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_few_sequences_are_seen_whole_at_every_step(scale: str) -> None:
    config = ENTRIES["overfit-structure"].configs("published", scale, 0)["samples-600"]  # type: ignore[arg-type]
    assert config.train.batch == config.train.samples == 600


def test_shared_runs_are_planned_once(tmp_path) -> None:  # type: ignore[no-untyped-def]
    plan = Plan(
        tuple(select(["order", "joint", "competition", "weight-decay"])), ("published",), "quick", (0,), tmp_path
    )
    assert sorted(config.experiment for config in plan.runs()) == ["minimal", "no-weight-decay"]
    everything = Plan(tuple(ENTRIES.values()), ("published", "text"), "quick", None, tmp_path)
    places = [run_location(config, tmp_path) for config in everything.runs()]
    assert len(set(places)) == len(places)


def test_headline_and_everything_fit_their_time_on_two_cores(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """By the cost model, which is measured; fifteen and ninety minutes are promised."""
    for names, minutes in ((HEADLINE, 15), (tuple(ENTRIES), 90)):
        plan = Plan(tuple(select(names)), ("published",), "quick", None, tmp_path)
        assert estimate_wall(plan.runs(), 2) < 60 * minutes
        assert all(cost(entry, "quick") > 0 for entry in plan.entries)


def test_unknown_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean competition"):
        select(["competitoin"])
