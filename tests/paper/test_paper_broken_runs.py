"""Tests that can fail: a sound run passes, deliberately broken ones do not.

Broken are: targets shuffled over the batch, heads tied by starting them exactly equal, and a task without hierarchy
presented as one with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import xarray as xr

from headwise.paper.claims import flow
from headwise.paper.claims.ablations import SMALL, judge_hierarchy, judge_init_scale
from headwise.paper.claims.exact import judge_gauge
from headwise.paper.claims.flow import judge_compensation
from headwise.paper.claims.flow import judge_stages as judge_flow_stages
from headwise.paper.claims.function_space import judge_joint
from headwise.paper.claims.variations import judge_alpha
from headwise.paper.entry import Case
from headwise.paper.flows import flow_config
from headwise.paper.head_stages import judge_competition, judge_departures, judge_specialisation
from headwise.paper.judged_run import judged_trajectory
from headwise.paper.stages import judge_stages
from headwise.study.config import RunConfig
from headwise.study.experiments import experiment
from headwise.study.prepared_run import PreparedRun
from headwise.study.runner import execute
from headwise.task import bayes, bayes_fitted

TINY = {
    "train.batch": 300,
    "train.samples": 9000,
    "train.checkpoint_every": 1000,
    "measure.test_samples": 200,
    "measure.bayes": (1, 2, 3),
}


@pytest.fixture(scope="module")
def runs_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Runs of one task share its best predictors; a short fit of them is enough to tell sound from broken."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bayes, "MOST_VISIBLE", 0)
        patch.setattr(bayes_fitted, "STEPS", 200)
        patch.setattr(bayes_fitted, "WIDTH", 256)
        patch.setattr(bayes_fitted, "CONVERGED", 1.0)
        yield tmp_path_factory.mktemp("runs")


def small(name: str, *, steps: int = 800, scale: float | None = None, ratio: float | None = None) -> RunConfig:
    given = {"train.steps": steps, "model.init_scale": scale, "task.m": ratio}
    return experiment(name, "redrawn").changed(
        {**TINY, **{key: value for key, value in given.items() if value is not None}}
    )


def trajectory(config: RunConfig, out: Path) -> xr.Dataset:
    return judged_trajectory(execute(config, out).path)


@pytest.fixture(scope="module")
def sound(runs_root: Path) -> xr.Dataset:
    return trajectory(small("minimal", scale=1e-3), runs_root)


@pytest.fixture(scope="module")
def tied(runs_root: Path) -> xr.Dataset:
    return trajectory(small("init-0", steps=400), runs_root)


@pytest.fixture(scope="module")
def shuffled(runs_root: Path) -> xr.Dataset:
    """Targets of a batch dealt out at random: nothing but their frequencies can be learned."""
    honest = PreparedRun.rows

    def rows(self: PreparedRun, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        inputs, targets = honest(self, step)
        order = torch.randperm(targets.numel(), generator=torch.Generator().manual_seed(step))
        return inputs, targets.flatten()[order].view_as(targets)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PreparedRun, "rows", rows)
        return trajectory(small("minimal", steps=300, scale=1e-3), runs_root)


def case(**runs: xr.Dataset) -> Case:
    return Case("redrawn", "quick", 0, runs)


def test_a_sound_run_passes(sound: xr.Dataset) -> None:
    assert judge_stages(sound).passed
    assert judge_competition(sound).passed
    assert judge_departures(sound).passed
    assert judge_specialisation(sound).passed
    assert judge_joint(sound).passed


def test_shuffled_targets_fail(shuffled: xr.Dataset) -> None:
    assert judge_stages(shuffled).passed is False
    assert not judge_competition(shuffled).passed
    assert not judge_departures(shuffled).passed
    assert not judge_specialisation(shuffled).passed
    assert not judge_joint(shuffled).passed


def test_tied_heads_compete_but_never_leave(tied: xr.Dataset) -> None:
    assert judge_competition(tied).passed
    assert judge_stages(tied).passed is False
    assert judge_departures(tied).passed is False
    assert judge_specialisation(tied).passed is False


def test_init_scale_needs_exactly_equal_heads_at_zero(sound: xr.Dataset, tied: xr.Dataset) -> None:
    """The sound run stands in for every u: exits are then not ordered; and it cannot stand in for u = 0."""
    names = {"init-xavier": sound, "init-1e-3": sound, "init-1e-6": sound, "minimal": sound}
    assert judge_init_scale(case(**names, **{"init-0": tied})).passed is False
    faster = {"init-xavier": _earlier(sound, 0.4), "init-1e-3": _earlier(sound, 0.6), "init-1e-6": _earlier(sound, 0.8)}
    assert judge_init_scale(case(**faster, minimal=sound, **{"init-0": tied})).passed is True
    assert judge_init_scale(case(**faster, minimal=sound, **{"init-0": sound})).passed is False


def test_init_scale_needs_every_start_to_leave(sound: xr.Dataset, tied: xr.Dataset) -> None:
    """Two starts that never leave the plateau are not in order."""
    starts = {"init-xavier": _earlier(sound, 0.4), "init-1e-3": _earlier(sound, 0.6), "init-1e-6": tied}
    assert judge_init_scale(case(**starts, minimal=tied, **{"init-0": tied})).passed is False


def test_two_heads_on_one_pattern_are_not_disjoint(sound: xr.Dataset) -> None:
    twins = sound.assign(
        attention_by_group=sound["attention_by_group"].isel(head=[0, 1, 1]).assign_coords(head=[1, 2, 3])
    )
    assert judge_gauge(case(minimal=sound)).passed
    assert judge_gauge(case(minimal=twins)).passed is False


def test_values_on_another_feature_than_the_attention_are_not_specialised(sound: xr.Dataset) -> None:
    mixed = sound.assign(
        value_coefficient=sound["value_coefficient"].isel(group=[1, 2, 0]).assign_coords(group=[1, 2, 3])
    )
    assert judge_specialisation(mixed).passed is False


def test_alpha_that_cannot_be_read_is_not_a_failure(sound: xr.Dataset) -> None:
    assert judge_alpha(case(alpha=sound.assign(kl=sound["kl"] * float("nan")))).passed is None
    single = sound.assign_attrs(groups="[[1], [2], [3]]")
    assert judge_alpha(case(alpha=single)).passed is None


def test_a_flow_without_its_third_stage_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """One offshoot is not both, and a loss that falls says nothing about positions."""
    monkeypatch.setattr(flow, "flow_config", lambda preset: flow_config(preset).changed({"t_end": 120.0}))
    assert judge_flow_stages(case()).passed is False
    assert judge_compensation(case()).passed is False


def test_stages_of_a_flow_in_another_order_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge_flow_stages(case()).passed
    monkeypatch.setattr("headwise.flow.stages.stage_features", lambda *arguments: [1, 3, 2])
    assert judge_flow_stages(case()).passed is False


def _earlier(run: xr.Dataset, share: float) -> xr.Dataset:
    return run.assign_coords(step=run["step"] * share)


def test_no_hierarchy_presented_as_one_fails(runs_root: Path) -> None:
    """m = 1 in the place of every ratio is not separated as m grows."""
    flat = trajectory(small("minimal", steps=500, scale=1e-3, ratio=1.0), runs_root)
    assert judge_hierarchy(case(**dict.fromkeys(SMALL.values(), flat)), SMALL).passed is False


def test_a_run_that_is_not_finite_cannot_be_read(sound: xr.Dataset) -> None:
    broken = sound.assign(kl=sound["kl"] * float("nan"))
    assert judge_stages(broken).passed is None
    assert judge_stages(broken).measured is None
