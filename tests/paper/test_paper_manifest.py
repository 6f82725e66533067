"""The manifest holds every claim and figure of the paper, each with a valid experiment and a stated threshold."""

from __future__ import annotations

import itertools

import pytest

from headwise.core.errors import ConfigError
from headwise.paper.entry import Claim, Figure
from headwise.paper.manifest import ENTRIES, HEADLINE, select
from headwise.paper.plan import Plan, cost
from headwise.study.config import Preset, RunConfig
from headwise.study.cost import estimate_seconds, estimate_wall
from headwise.study.run_location import run_location

CLAIMS = (
    "representation",
    "symmetry",
    "gauge",
    "order",
    "windows",
    "joint",
    "competition",
    "offshoot",
    "specialisation",
    "diagonal",
    "positions",
    "ladder",
    "init-scale",
    "hierarchy",
    "extra-heads",
    "data-size",
    "early-stop",
    "overfit-structure",
    "online",
    "reverse",
    "weight-decay",
    "depth",
    "alpha",
    "overlap",
    "sgd",
    "flow-stages",
    "flow-compensation",
    "flow-theory",
    "head-dynamics",
    "theorems",
)
FULL_MODEL = ("order-full", "competition-full", "offshoot-full", "specialisation-full", "depth-full")
PAPER_LABELS = (
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
)


@pytest.mark.parametrize("name", [*CLAIMS, *FULL_MODEL])
def test_every_claim_is_there_with_a_threshold(name: str) -> None:
    claim = ENTRIES[name]
    assert isinstance(claim, Claim)
    assert claim.threshold
    assert claim.quantity
    assert claim.label


@pytest.mark.parametrize("label", PAPER_LABELS)
def test_every_figure_of_the_paper_is_drawn(label: str) -> None:
    drawn = {part.strip() for entry in ENTRIES.values() if isinstance(entry, Figure) for part in entry.label.split(",")}
    assert label in drawn


def test_the_ladder_is_a_figure_and_a_table() -> None:
    assert [ENTRIES[name].kind for name in ("fig-ladder", "table-ladder")] == ["figure", "table"]


@pytest.mark.parametrize(("scale", "preset"), list(itertools.product(("quick", "paper"), ("published", "text"))))
def test_every_run_is_valid_at_every_scale(scale: str, preset: Preset) -> None:
    for entry in ENTRIES.values():
        for config in entry.configs(preset, scale, 1).values():  # type: ignore[arg-type]
            assert RunConfig.model_validate(config.model_dump()) == config
            assert config.seed == 1
            assert estimate_seconds(config) > 0


def test_paper_scale_is_the_papers_size_for_the_minimal_model_and_the_full_one() -> None:
    for name in ("minimal", "full"):
        entry = next(e for e in ENTRIES.values() if e.experiments == (name,))
        config = entry.configs("published", "paper", 0)[name]
        assert (config.train.batch, config.train.samples, config.measure.test_samples) == (3000, 9000, 3000)
        assert config.train.steps >= 1000


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
