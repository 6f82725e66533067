"""A run, completely described."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from headwise.actions.config import BranchConfig, check_branch
from headwise.core.config import Config, content_hash
from headwise.core.errors import ConfigError
from headwise.core.readings import Preset as Preset
from headwise.core.readings import reading_of
from headwise.core.seeds import SeedConfig
from headwise.measure.config import MeasureConfig
from headwise.model.compute import ComputeConfig
from headwise.model.config import ModelConfig
from headwise.study.own_config import OwnConfig
from headwise.task.config import TaskConfig, group_lags
from headwise.training.config import TrainConfig

LARGEST_DATA = 8 * 2**30
LARGEST_MODEL = 4 * 2**30
"""Bytes of tokens and of weights beyond which a config is surely a slip of the keyboard."""

BRANCH = "-branch"
"""How the name under which a branch is kept ends, after that of its parent."""

YOUNGER_KEYS: tuple[tuple[str, str, Any], ...] = (
    # part of the config, its key, and the value with which results are those from before the key existed
    ("measure", "window_samples", None),
    ("measure", "importance", None),
    ("measure", "importance_of", "heads"),
    ("task", "features_digest", None),
    ("train", "dropout_steps", "all"),
    ("model", "position_rows", None),
)


class RunConfig(Config):
    """Task, model, training and measurement of one run, with the seed everything is drawn from.

    `experiment` makes one from a name; a stored run's `config.json` is one too.

    >>> from headwise import RunConfig, TaskConfig
    >>> RunConfig(experiment="mine", preset="text", task=TaskConfig(m=1.3)).changed({"seed": 4}).task.m
    1.3
    """

    experiment: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="name under which the run is kept")
    ]
    preset: Annotated[Preset, Field(description="reading of the paper that the values come from")]
    seed: Annotated[int, Field(ge=0, lt=2**63, description="seed of everything random in the run")] = 0
    seeds: SeedConfig = SeedConfig()
    task: TaskConfig = TaskConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    measure: MeasureConfig = MeasureConfig()
    compute: ComputeConfig = ComputeConfig()
    own: Annotated[
        OwnConfig | None, Field(description="code of the caller's own, by name and digest; set by headwise.train")
    ] = None
    branch: Annotated[
        BranchConfig | None, Field(description="where a branch begins and what it does; set by `headwise branch`")
    ] = None

    @model_serializer(mode="wrap")
    def _own_and_branch_where_there_are_some(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Most runs have no code of their caller's and are no branch; they are stored as before there could be either.
        content: dict[str, Any] = handler(self)
        return {key: value for key, value in content.items() if key not in ("own", "branch") or value is not None}

    @model_validator(mode="after")
    def _reading_follows_task(self) -> Self:
        # The label of a stored run may be older than the readings are: its task says which of them it is.
        self.__dict__["preset"] = reading_of(self.preset, self.task.features)
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        length = self.task.w + self.task.T - 1
        stored = 8 * (self.task.w + self.task.T) * max(self.train.samples, self.train.batch, self.measure.test_samples)
        if stored > LARGEST_DATA:
            raise ValueError(
                f"train.samples = {self.train.samples} and measure.test_samples = {self.measure.test_samples} need "
                f"{stored / 2**30:.0f} GiB of tokens; lower them (the limit is {LARGEST_DATA / 2**30:.0f} GiB)"
            )
        stream = stream_size(self)
        weights = 4 * self.model.blocks * self.model.heads * stream**2
        if weights > LARGEST_MODEL:
            raise ValueError(
                f"model.heads = {self.model.heads} and a stream of {stream} need {weights / 2**30:.0f} GiB of weights; "
                f"lower model.heads, model.blocks, model.width, task.d or task.T"
            )
        for key, context in (("model.context", self.model.context), ("model.window", self.model.window)):
            if context is not None and context > length:
                raise ValueError(f"{key} = {context} is longer than the {length} input positions; lower it")
        used = self.model.window or length
        if self.model.position_rows is not None and self.model.position_rows < used:
            raise ValueError(
                f"model.position_rows = {self.model.position_rows} is less than the {used} positions used; raise it"
            )
        furthest = max(max(group) for group in group_lags(self.task))
        for window in self.measure.windows:
            if not 1 <= window <= self.task.w:
                raise ValueError(
                    f"measure.windows: {window} is outside 1..task.w = {self.task.w} (furthest lag {furthest})"
                )
        for prefix in self.measure.bayes:
            if not 1 <= prefix <= self.task.h:
                raise ValueError(f"measure.bayes: {prefix} is outside 1..task.h = {self.task.h}")
        if self.branch is not None:
            check_branch(self.branch, self.model, self.task, steps=self.train.steps)
        for name, seed in self.seeds:
            if seed is not None and seed < 0:
                raise ValueError(f"seeds.{name} must not be negative")
        return self

    def with_consequences(self, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """Another preset would leave all its values behind, and is refused: it names the reading they come from."""
        preset = changes.get("preset", self.preset)
        if preset != self.preset:
            raise ConfigError(
                f"preset: these are the values of the {self.preset} reading; "
                f"take experiment({self.experiment!r}, {preset!r}) for the other"
            )
        return changes

    def seed_of(self, stream: Literal["task", "data", "init", "batches", "dropout"]) -> int:
        """The seed from which one stream of random numbers is drawn."""
        own: int | None = getattr(self.seeds, stream)
        return self.seed if own is None else own


def stream_size(config: RunConfig) -> int:
    """Size of the model's stream: learned width, or token and position side by side."""
    positions = config.model.window or config.task.w + config.task.T - 1
    if config.model.embedding == "learned":
        return config.model.width + (positions if config.model.positions == "one_hot" else 0)
    return config.task.d + (0 if config.model.positions == "relative" else positions)


def scientific_content(config: RunConfig) -> dict[str, Any]:
    """What a run's results depend on, apart from its seed: everything but names and the machine's settings.

    Of the latter only the precision changes more than last bits.

    A key that is younger than stored runs counts only once it is set, so that those keep their names. Of features from
    a file the content counts, not its place.
    """
    content = config.model_dump(mode="json", exclude={"experiment", "preset", "seed", "compute"})
    if config.task.features_digest is not None:
        content["task"]["features"] = "file"
    for room, key, unset in YOUNGER_KEYS:
        if content[room][key] == unset:
            del content[room][key]
    if config.compute.dtype != "float32":
        content["dtype"] = config.compute.dtype
    return content


def config_hash(config: RunConfig) -> str:
    """The digits that name a run's settings."""
    return content_hash(scientific_content(config))


def window_config(config: RunConfig, window: int) -> RunConfig:
    """The restricted-context model that `config` is compared with: same training, windows of this size.

    Its data are the same too unless `measure.window_samples` gives it more or fewer sequences. A branch is compared
    with the models of its parent, which are kept under the parent's name, unless it changes what these are trained on.
    """
    name = config.experiment if config.branch is None else config.experiment.removesuffix(BRANCH)
    return config.changed(
        {
            "experiment": f"{name}-window-{window}"[:64],
            "model.window": window,
            "model.context": None,
            "train.samples": config.measure.window_samples or config.train.samples,
            "measure.windows": (),
            "measure.window_samples": None,
            "measure.bayes": (),
            "own": None,
            "branch": None,
            "measure.importance": None,
            "measure.importance_of": "heads",
        }
    )
