"""What a regression flow is (paper §3, App. D): the target, the start, the system and how it is integrated.

Values are stored as given and interpreted elsewhere. Nothing heavy is imported here.
"""

from __future__ import annotations

import itertools
import math
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from headwise.core.config import Config

Positions = tuple[int, ...]
Weights = tuple[float, ...]
NoiseKind = Literal["none", "logit", "s-std", "s-cov"]
SystemName = Literal["heads", "coupled", "cooperative", "two-scale", "nth-head", "two-group"]

DEFAULT_NOISE: dict[str, float] = {"none": 0.0, "logit": 1e-3, "s-std": 1e-6, "s-cov": 1e-6}
"""Three readings of App. D's `covariance ε I, ε = 1e-6`; for `s-cov` the number is a variance, else a deviation."""


class FlowConfig(Config):
    """A gradient flow of h features over T positions; group 1 is the most important.

    Strengths are `m**(h-k) * b0` for group k unless `strengths` gives them. Equal strengths are allowed: stage times
    are then still the crossings of the loss levels, but which group comes first is decided by the noise alone.

    >>> from headwise import FlowConfig
    >>> FlowConfig(start="B", T=20).changed({"m": 1.3}).m
    1.3
    """

    h: Annotated[int, Field(ge=1, description="number of features, one group of positions each")] = 3
    heads: Annotated[int | None, Field(ge=1, description="number of heads; as many as features when not given")] = None
    T: Annotated[int, Field(ge=1, description="number of positions")] = 40
    d: Annotated[int, Field(ge=1, description="size of the value matrices; the reduction does not depend on it")] = 50
    m: Annotated[float, Field(gt=0, description="strength ratio between neighbouring features")] = 1.7
    b0: Annotated[float, Field(gt=0, description="strength of the last feature")] = 1.0
    strengths: Annotated[Weights | None, Field(description="m_1*, ..., m_h* instead of m and b0")] = None
    groups: Annotated[
        Literal["singleton"] | tuple[Positions, ...], Field(description="positions of each group, counted from 1")
    ] = "singleton"
    alpha: Annotated[
        Literal["uniform", "sum"] | tuple[Weights, ...],
        Field(description="weights in a group: uniform 1/|I(k)|, sum (all 1), or one list per group"),
    ] = "uniform"
    features: Annotated[
        Literal["frobenius", "haar", "correlated"],
        Field(description="V*: Frobenius-orthonormal, Haar orthogonal over √d, or correlated by `correlation`"),
    ] = "frobenius"
    correlation: Annotated[float, Field(gt=-1, lt=1, description="cosine between any two features")] = 0.0
    start: Annotated[
        Literal["A", "B", "noise"],
        Field(description="A: q = 0; B: q = 1e-3 sin((k+1)(i+1)), centred; noise: q = 0 plus `noise`"),
    ] = "noise"
    noise: Annotated[NoiseKind, Field(description="noise on the logits, or on s by deviation or by variance")] = "logit"
    noise_scale: Annotated[
        float | None, Field(ge=0, description="deviation (logit, s-std) or variance (s-cov); 1e-3, 1e-6, 1e-6 if unset")
    ] = None
    noise_draw: Annotated[
        Literal["seed", "figure"],
        Field(description="figure: the numbers that the published figure drew, whatever the seed"),
    ] = "seed"
    values: Annotated[Literal["zero", "gaussian"], Field(description="V(0): zero, or Gaussian of norm value_scale")] = (
        "zero"
    )
    value_scale: Annotated[float, Field(ge=0, description="Frobenius norm of each Gaussian V(0)")] = 0.1
    system: Annotated[SystemName, Field(description="all heads, or one of the simplified systems of §3.2-3.3")] = (
        "heads"
    )
    nth: Annotated[int, Field(ge=2, description="nth-head: the feature that is learned next")] = 2
    epsilon: Annotated[
        float, Field(gt=0, lt=1, description="simplified systems: first step of the offshooting head to its feature")
    ] = 0.005
    boundary: Annotated[
        float, Field(gt=0, description="two-group: time at which the flow of all heads hands over its state")
    ] = 25.0
    metric: Annotated[
        Literal["squared", "plain"], Field(description="ds/dt = Π² g (gradient flow on logits) or Π g")
    ] = "squared"
    chart: Annotated[Literal["q", "s"], Field(description="integrate logits or attention")] = "q"
    state: Annotated[
        Literal["reduced", "full"], Field(description="exact reduction, or the d x d matrices themselves")
    ] = "reduced"
    t_end: Annotated[float, Field(gt=0, description="end time")] = 3000.0
    method: Annotated[
        Literal["DOP853", "LSODA", "Radau", "euler"],
        Field(description="euler: fixed step, then clip and renormalise s"),
    ] = "DOP853"
    rtol: Annotated[float, Field(gt=0, lt=1, description="relative tolerance of the solver")] = 1e-9
    atol: Annotated[float, Field(gt=0, lt=1, description="absolute tolerance of the solver")] = 1e-12
    euler_step: Annotated[float, Field(gt=0, description="step of the method euler")] = 0.005
    grid: Annotated[
        Literal["adaptive", "linear", "log"], Field(description="times kept; adaptive is dense where something happens")
    ] = "adaptive"
    points: Annotated[int, Field(ge=10, description="number of times kept")] = 500

    @model_serializer(mode="wrap")
    def _draw_where_it_is_the_figures(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Flows are named by this content; those from before the key existed drew from their seed and keep their names.
        content: dict[str, Any] = handler(self)
        return {key: value for key, value in content.items() if key != "noise_draw" or value != "seed"}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        strengths = feature_strengths(self)
        if self.strengths is not None and len(self.strengths) != self.h:
            raise ValueError(f"strengths lists {len(self.strengths)} values for h = {self.h}; give one each")
        if min(strengths) <= 0 or not math.isfinite(max(strengths)):
            raise ValueError(f"strengths must be positive and finite (got {min(strengths)}); drop the feature instead")
        if any(a < b for a, b in itertools.pairwise(strengths)):
            raise ValueError(
                "strengths must not increase: list the most important group first, or raise m to at least 1"
            )
        if self.features == "frobenius" and self.h > self.d**2:
            raise ValueError(
                f"h = {self.h} features of size {self.d} x {self.d} cannot be orthogonal; lower h or raise d"
            )
        if self.features == "correlated" and self.h > 1 and self.correlation <= -1 / (self.h - 1):
            raise ValueError(f"correlation must exceed {-1 / (self.h - 1):.3f} for {self.h} features")
        _check_groups(self)
        _check_noise(self)
        _check_system(self)
        return self


def _check_groups(config: FlowConfig) -> None:
    if config.groups == "singleton":
        if config.h > config.T:
            raise ValueError(f"T = {config.T} has fewer positions than h = {config.h} groups; raise T or lower h")
        return
    if len(config.groups) != config.h:
        raise ValueError(f"groups lists {len(config.groups)} groups but h = {config.h}; make them agree")
    owner: dict[int, int] = {}
    for k, group in enumerate(config.groups, start=1):
        if not group or len(set(group)) < len(group):
            raise ValueError(f"groups: I({k}) must name at least one position, each once")
        for position in group:
            if not 1 <= position <= config.T:
                raise ValueError(f"groups: position {position} in I({k}) is outside 1..{config.T}; change it or T")
            if position in owner:
                raise ValueError(f"groups overlap: position {position} is in I({owner[position]}) and I({k})")
            owner[position] = k
    for k, (group, weights) in enumerate(zip(config.groups, group_weights(config), strict=True), start=1):
        if len(weights) != len(group):
            raise ValueError(f"alpha gives I({k}) {len(weights)} weights for {len(group)} positions; match them")
        if min(weights) <= 0:
            raise ValueError(f"alpha: weights must be positive (I({k}) has {min(weights)})")


def _check_noise(config: FlowConfig) -> None:
    if config.start != "noise" or config.noise == "none":
        return
    deviation = noise_deviation(config)
    if config.noise != "logit" and deviation >= 1 / config.T:
        raise ValueError(
            f"noise_scale: noise of deviation {deviation:g} on s does not fit 1/T = {1 / config.T:g}; lower it below "
            f"{0.2 / config.T:g}, or put the noise on the logits (noise = logit)"
        )
    if 0 < deviation < 100 * config.atol:
        raise ValueError(
            f"atol = {config.atol:g} would drown noise of deviation {deviation:g}; lower atol 100-fold below it"
        )


def _check_system(config: FlowConfig) -> None:
    heads = head_count(config)
    if config.system in ("cooperative", "two-scale", "nth-head", "two-group"):
        if config.h < 2 or heads < 2:
            raise ValueError(f"system = {config.system} needs at least two features and two heads; raise h")
        if config.state == "full":
            raise ValueError(f"system = {config.system} exists in the reduction only; set state = reduced")
    if config.system == "nth-head" and config.nth > min(config.h, heads):
        raise ValueError(
            f"nth = {config.nth} exceeds the {min(config.h, heads)} features that heads can learn; lower it"
        )
    if config.system == "two-group" and config.boundary >= config.t_end:
        raise ValueError(f"boundary = {config.boundary:g} must come before t_end = {config.t_end:g}")
    if config.method == "euler" and config.state == "full":
        raise ValueError("method = euler is for the reduction; set state = reduced")


def head_count(config: FlowConfig) -> int:
    """The number of heads, as many as features unless given."""
    return config.heads if config.heads is not None else config.h


def feature_strengths(config: FlowConfig) -> Weights:
    """m_1*, ..., m_h*."""
    if config.strengths is not None:
        return config.strengths
    try:
        return tuple(config.m ** (config.h - k) * config.b0 for k in range(1, config.h + 1))
    except OverflowError:
        return (math.inf,)


def group_positions(config: FlowConfig) -> tuple[Positions, ...]:
    """I(1), ..., I(h), counted from 1."""
    if config.groups == "singleton":
        return tuple((k,) for k in range(1, config.h + 1))
    return config.groups


def group_weights(config: FlowConfig) -> tuple[Weights, ...]:
    """The weights α of each group, in the order of its positions."""
    groups = group_positions(config)
    if config.alpha == "uniform":
        return tuple((1 / len(group),) * len(group) for group in groups)
    if config.alpha == "sum":
        return tuple((1.0,) * len(group) for group in groups)
    if len(config.alpha) != len(groups):
        raise ValueError(f"alpha lists {len(config.alpha)} groups, groups has {len(groups)}; match them")
    return config.alpha


def noise_deviation(config: FlowConfig) -> float:
    """The standard deviation of the noise, on the logits or on s."""
    if config.start != "noise":
        return 0.0
    scale = DEFAULT_NOISE[config.noise] if config.noise_scale is None else config.noise_scale
    return math.sqrt(scale) if config.noise == "s-cov" else scale
