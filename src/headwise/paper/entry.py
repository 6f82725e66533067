"""What an entry of the manifest is: a claim with its test, or a figure with its drawing, and the runs it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from headwise.paper.limit import Limit
from headwise.paper.scale import Scale, at_scale
from headwise.paper.verdict import Judgement
from headwise.study.config import Preset, RunConfig
from headwise.study.experiments import experiment

if TYPE_CHECKING:
    import xarray as xr

    from headwise.view.panels import Sheet

Concern = Literal["function", "heads"]
"""What a claim reads stages from: what the model predicts, or where its heads look."""

FUNCTION: frozenset[Concern] = frozenset({"function"})
HEADS: frozenset[Concern] = frozenset({"heads"})

EVERY: tuple[Preset, ...] = ("published", "redrawn", "text")


@dataclass(frozen=True)
class Case:
    """What a test sees of one seed: its trajectories by the name of their experiment.

    `others` are the same runs of the other seeds, where a claim compares a change with the spread between seeds.
    """

    preset: Preset
    scale: Scale
    seed: int
    runs: Mapping[str, xr.Dataset]
    others: Mapping[str, tuple[xr.Dataset, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    """What a drawing sees: the trajectories of all seeds, by the name of their experiment."""

    preset: Preset
    scale: Scale
    seeds: tuple[int, ...]
    runs: Mapping[str, list[xr.Dataset]]


@dataclass(frozen=True)
class Entry:
    """A figure, table or claim of the paper, its place there, and the experiments it is made from."""

    name: str
    label: str
    about: str
    experiments: tuple[str, ...] = ()
    presets: tuple[Preset, ...] = EVERY

    def configs(self, preset: Preset, scale: Scale, seed: int) -> dict[str, RunConfig]:
        """The runs of one seed by the name of their experiment."""
        return {name: at_scale(experiment(name, preset), scale, seed=seed) for name in self.experiments}


@dataclass(frozen=True)
class Claim(Entry):
    """A statement with a test: `threshold` is stated beforehand, `judge` applies it to one seed.

    `quantity` is what is measured, in `unit`; `limit` is the part of the threshold that it has to keep, where there is
    one. A claim that `concerns` stages has to reject the trajectories of `controls`.
    """

    quantity: str = ""
    unit: str = ""
    threshold: str = ""
    limit: Limit | None = None
    published: float | None = None
    concerns: frozenset[Concern] = frozenset()
    across_seeds: bool = False
    """Whether the test also looks at the runs of the other seeds."""
    judge: Callable[[Case], Judgement] = field(kw_only=True)

    @property
    def kind(self) -> Literal["claim"]:
        return "claim"


@dataclass(frozen=True)
class Figure(Entry):
    """A figure or table: `compose` turns evidence into panels, which are drawn and written as a table."""

    compose: Callable[[Evidence], Sheet] = field(kw_only=True)
    form: Literal["figure", "table"] = "figure"

    @property
    def kind(self) -> Literal["figure", "table"]:
        return self.form
