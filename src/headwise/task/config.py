"""What a task is (paper §2.1): order, dictionary, groups of lags, weights within them, features and their importance.

Values are stored as given and interpreted by functions, so that a stored config reads like the command that made it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, field_validator, model_validator

from headwise.core.config import Config
from headwise.core.errors import ConfigError
from headwise.core.keys import nearest_key
from headwise.task.given_features import FIGURES_COUNT, FIGURES_SIZE, file_digest, file_shape

Layout = Literal["contiguous", "reversed", "singleton"]
DrawnFeatures = Literal["haar", "frobenius", "correlated"]
GivenFeatures = Literal["figures", "figures-frobenius"]
Lags = tuple[int, ...]
Weights = tuple[float, ...]


LARGEST_TABLES = 4 * 2**30
"""Bytes of feature matrices and lag tables that a task may take."""


LEAST_NORM, LARGEST_NORM = 1e-100, 1e100
"""Norms of features whose squares, which measurements need, are neither zero nor infinite."""


KNOWN_FEATURES = (*get_args(DrawnFeatures), *get_args(GivenFeatures))
"""What `features` may be, apart from the name of a file."""


class TaskConfig(Config):
    """A Markov chain of order w over d tokens whose next-token logits add up over h groups of lags (Eq. 1).

    Group 1 is the most important. Importance is `m**(h-k) * b0` for group k unless `norms` gives it.

    >>> from headwise import TaskConfig
    >>> TaskConfig(d=20, groups=((1, 2), (3,)), h=2).changed({"m": 1.3}).m
    1.3
    """

    d: Annotated[int, Field(ge=2, le=20_000, description="dictionary size")] = 50
    w: Annotated[int, Field(ge=1, le=10_000, description="order of the chain: the furthest lag that matters")] = 6
    T: Annotated[int, Field(ge=1, le=10_000, description="predicted tokens per sequence")] = 20
    h: Annotated[int, Field(ge=1, le=10_000, description="number of groups")] = 3
    groups: Annotated[
        Layout | tuple[Lags, ...],
        Field(description="contiguous: equal blocks from the most recent; reversed; singleton; or lists of lags"),
    ] = "contiguous"
    overlap: Annotated[Literal["refuse", "allow"], Field(description="whether a lag may be in two groups")] = "refuse"
    alpha: Annotated[
        Literal["uniform", "sum"] | Weights | tuple[Weights, ...],
        Field(description="weights in a group: uniform 1/|I(k)|, sum (all 1), one list for all groups or one each"),
    ] = "uniform"
    features: Annotated[
        str,
        Field(
            description="haar: orthogonal, drawn; frobenius: exactly Frobenius-orthogonal; correlated: by "
            "`correlation`; figures, figures-frobenius: those behind the published figures; or a .npy file of "
            "(count, d, d)"
        ),
    ] = "haar"
    features_digest: Annotated[
        str | None, Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of the file of features; found by itself")
    ] = None
    correlation: Annotated[float, Field(gt=-1, lt=1, description="cosine between any two features")] = 0.0
    m: Annotated[float, Field(gt=0, description="importance ratio between neighbouring groups")] = 1.7
    b0: Annotated[float, Field(gt=0, description="importance of the last group")] = 10.0
    norms: Annotated[Weights | None, Field(description="importance of each group, instead of m and b0")] = None

    def with_consequences(self, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """Features from a file are looked at again when anything about the task changes."""
        return {"features_digest": None, **changes} if changes else changes

    @model_validator(mode="before")
    @classmethod
    def _digest_of_file(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or values.get("features_digest") not in (None, "none"):
            return values
        features = values.get("features")
        if not isinstance(features, str) or features in KNOWN_FEATURES:
            return values
        if not features.endswith(".npy"):
            raise ValueError(
                f"task.features: {features!r:.80} is none of {', '.join(KNOWN_FEATURES)} and no .npy file"
                f"{nearest_key(features, KNOWN_FEATURES)}"
            )
        try:
            return {**values, "features_digest": file_digest(features)}
        except ConfigError as error:
            raise ValueError(str(error)) from None

    @field_validator("groups", mode="wrap")
    @classmethod
    def _readable_groups(cls, value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        # A union reports one problem per branch; the reader needs the choice between them.
        try:
            return handler(value)
        except ValidationError:
            raise ValueError(
                f"must be contiguous, reversed, singleton or a list of lists of lags (got {value!r:.80})"
            ) from None

    @field_validator("alpha", mode="wrap")
    @classmethod
    def _readable_alpha(cls, value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise ValueError(
                f"must be uniform, sum, a list of finite weights or one such list per group (got {value!r:.80})"
            ) from None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        tables = 8 * (self.h + self.w) * self.d**2
        if tables > LARGEST_TABLES:
            raise ValueError(
                f"task.d = {self.d}, task.w = {self.w} and task.h = {self.h} need tables of {tables / 2**30:.0f} GiB; "
                f"lower one of them (the limit is {LARGEST_TABLES / 2**30:.0f} GiB)"
            )
        lags = group_lags(self)
        if len(lags) != self.h:
            raise ValueError(f"task.groups lists {len(lags)} groups but task.h = {self.h}; make them agree")
        owner: dict[int, int] = {}
        for k, group in enumerate(lags, start=1):
            if not group:
                raise ValueError(f"task.groups: I({k}) is empty; give it at least one lag")
            if len(set(group)) < len(group):
                raise ValueError(f"task.groups: I({k}) names a lag twice; name each once")
            for lag in group:
                if not 1 <= lag <= self.w:
                    raise ValueError(f"task.groups: lag {lag} in I({k}) is outside 1..{self.w}; change it or task.w")
                if lag in owner and self.overlap == "refuse":
                    raise ValueError(
                        f"task.groups overlap: lag {lag} is in I({owner[lag]}) and I({k}); "
                        "pass --task.overlap allow or give each lag to one group"
                    )
                owner[lag] = k
        for k, (group, weights) in enumerate(zip(lags, group_weights(self, lags), strict=True), start=1):
            if len(weights) != len(group):
                raise ValueError(f"task.alpha gives I({k}) {len(weights)} weights for {len(group)} lags; match them")
            if min(weights) < 0:
                raise ValueError(f"task.alpha: weights must not be negative (I({k}) has {min(weights)})")
            if sum(weights) == 0:
                raise ValueError(f"task.alpha: I({k}) has only zero weights; give one lag a positive weight")
        if self.norms is not None and len(self.norms) != self.h:
            raise ValueError(f"task.norms lists {len(self.norms)} values for {self.h} groups; give one each")
        if self.norms is not None and min(self.norms) <= 0:
            raise ValueError("task.norms must all be positive")
        keys = "task.m and task.b0 give" if self.norms is None else "task.norms has"
        for norm in importance(self):
            if not LEAST_NORM <= norm <= LARGEST_NORM:
                raise ValueError(f"{keys} a norm of {norm:g}; keep norms between {LEAST_NORM:g} and {LARGEST_NORM:g}")
        _check_given_features(self)
        if self.features != "haar" and self.h > self.d * self.d:
            raise ValueError(
                f"task.h = {self.h} features of size {self.d} x {self.d} cannot be independent; lower task.h"
            )
        if self.features != "correlated" and self.correlation != 0:
            raise ValueError(
                f"task.correlation = {self.correlation} has no effect on task.features = {self.features}; "
                "pass --task.features correlated"
            )
        if self.features == "correlated" and self.h > 1 and self.correlation <= -1 / (self.h - 1):
            raise ValueError(f"task.correlation must exceed {-1 / (self.h - 1):.3f} for {self.h} features")
        return self


def _check_given_features(task: TaskConfig) -> None:
    """Given matrices have a size and a number, and nothing is made up beyond them."""
    if task.features in get_args(GivenFeatures):
        if task.d != FIGURES_SIZE:
            raise ValueError(
                f"task.d = {task.d}: the task of the published figures has d = {FIGURES_SIZE}; "
                "take --preset redrawn for one of another size"
            )
        if task.h > FIGURES_COUNT:
            raise ValueError(
                f"task.h = {task.h}: the task of the published figures has {FIGURES_COUNT} groups; "
                "take --preset redrawn for more"
            )
    elif task.features not in KNOWN_FEATURES:
        shape = file_shape(task.features)
        if shape is not None and (shape[1] != task.d or shape[0] < task.h):
            raise ValueError(
                f"task.features: {task.features} holds {shape[0]} matrices of {shape[1]} x {shape[1]}; "
                f"task.h = {task.h} and task.d = {task.d} ask for others"
            )
    elif task.features_digest is not None:
        raise ValueError("task.features_digest belongs to features from a file; leave it out")


def group_lags(task: TaskConfig) -> tuple[Lags, ...]:
    """I(1), ..., I(h), most important first."""
    if not isinstance(task.groups, str):
        return task.groups
    if task.groups == "singleton":
        if task.w < task.h:
            raise ValueError(f"task.w = {task.w} has fewer lags than task.h = {task.h} groups; raise task.w")
        return tuple((k,) for k in range(1, task.h + 1))
    if task.w % task.h:
        raise ValueError(
            f"task.w = {task.w} does not split into task.h = {task.h} equal groups; change one or list task.groups"
        )
    size = task.w // task.h
    blocks = tuple(tuple(range(k * size + 1, (k + 1) * size + 1)) for k in range(task.h))
    return blocks if task.groups == "contiguous" else blocks[::-1]


def group_weights(task: TaskConfig, lags: tuple[Lags, ...]) -> tuple[Weights, ...]:
    """The weights alpha of each group, in the order of its lags."""
    if task.alpha == "uniform":
        return tuple((1 / len(group),) * len(group) for group in lags)
    if task.alpha == "sum":
        return tuple((1.0,) * len(group) for group in lags)
    if all(isinstance(weight, float | int) for weight in task.alpha):
        return (task.alpha,) * len(lags)  # type: ignore[return-value]
    if len(task.alpha) != len(lags):
        raise ValueError(f"task.alpha lists {len(task.alpha)} groups, task.groups has {len(lags)}; match them")
    return task.alpha  # type: ignore[return-value]


def importance(task: TaskConfig) -> Weights:
    """The spectral norm of each feature matrix, m_k = m^(h-k) b0 by default."""
    if task.norms is not None:
        return task.norms
    try:
        return tuple(task.m ** (task.h - k) * task.b0 for k in range(1, task.h + 1))
    except OverflowError:
        return (math.inf,)


def overlapping_groups(count: int, size: int, stride: int) -> tuple[Lags, ...]:
    """`count` runs of `size` lags, each `stride` further back than the one before; the first is the most recent."""
    return tuple(tuple(range(k * stride + 1, k * stride + size + 1)) for k in range(count))
