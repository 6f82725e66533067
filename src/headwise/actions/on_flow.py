"""The same actions on the gradient flow of §3: the state is set at a time, or held from then on.

A head of the flow has attention (logits q) and values (coefficients C). `freeze` holds either, `tie` gives tied heads
one state and one velocity, `clamp` and `ablate` set attention or values and hold them; the others set the state once.
There are no moments, no weight decay and no clipping here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from headwise.actions.ablate import Ablate
from headwise.actions.action import Action, HeldAction
from headwise.actions.clamp import Clamp
from headwise.actions.copy import Copy
from headwise.actions.freeze import Freeze
from headwise.actions.perturb import Perturb
from headwise.actions.reset import Reset
from headwise.actions.scale import Scale
from headwise.actions.sham import Sham
from headwise.actions.swap import Swap
from headwise.actions.text import parse_action, require_texts
from headwise.actions.tie import Tie
from headwise.actions.together import check_together
from headwise.core.errors import ConfigError
from headwise.core.seeds import Stream, generator
from headwise.flow.config import FlowConfig, head_count
from headwise.flow.heads import heads_of_system
from headwise.flow.reduction import State, System
from headwise.flow.simplex import Array, centred_logits, softmax
from headwise.flow.simulate import SolvedFlow, solve_flow, to_trajectory
from headwise.flow.solve import integrate
from headwise.flow.start import initial_logits
from headwise.flow.systems import all_heads
from headwise.flow.target import build_target
from headwise.model.config import ModelConfig
from headwise.task.config import TaskConfig

if TYPE_CHECKING:
    import xarray as xr

NOTHING = 1e-30
"""Attention that a clamped head gives to what its pattern leaves out, so that its logits are finite."""


def branch_flow(
    config: FlowConfig,
    at: float,
    *,
    do: Sequence[str] = (),
    until: float | None = None,
    then: Sequence[str] = (),
    strengths: Sequence[float] | None = None,
    seed: int = 0,
) -> xr.Dataset:
    """The trajectory of a flow from time `at` on, with actions that end at `until` or with the flow.

    `then` is done at `until`, and holds to the end. `strengths` are those of the features from `at` on, in any order.
    """
    if config.system != "heads" or config.state != "reduced" or config.values != "zero" or config.chart != "q":
        raise ConfigError(
            "a branch needs the flow of all heads: system = heads, state = reduced, values = zero, chart = q"
        )
    for name, time in {"at": at, "until": until}.items():
        given = name == "at" or time is not None
        if given and (isinstance(time, bool) or not isinstance(time, Real)):
            raise ConfigError(f"{name} = {time!r:.40} must be a time, a number")
    require_texts(do)
    require_texts(then, "then")
    if not 0 <= at < config.t_end:
        raise ConfigError(f"at = {at:g} must lie between 0 and t_end = {config.t_end:g}")
    if until is not None and not at < until < config.t_end:
        raise ConfigError(f"until = {until:g} must lie between at = {at:g} and t_end = {config.t_end:g}")
    if then and until is None:
        raise ConfigError(f"then = {list(then)} is done at until; give until, or put it into do")
    target = build_target(config, seed)
    if strengths is not None:
        if len(strengths) != target.features:
            raise ConfigError(f"strengths lists {len(strengths)} values for h = {target.features}; give one each")
        target = replace(target, strengths=np.asarray(strengths, dtype=float))
    system = all_heads(target, head_count(config), metric=config.metric)
    y = solve_flow(config, seed).solution.at(np.array([at]))[0].copy()
    parts = []
    legs = [(at, config.t_end, do)] if until is None else [(at, until, do), (until, config.t_end, then)]
    for start, end, texts in legs:
        actions = [_checked(text, config) for text in texts]
        check_together(actions, _like(config))
        _check_ties(actions, _like(config))
        state = system.unpack(y)
        # What is held is the state itself, so it is set last: weights that change under a clamped head do not show.
        for index, action in sorted(enumerate(actions), key=lambda one: isinstance(one[1], (Ablate, Clamp))):
            state = _set(action, state, system, initial_logits(config, seed), seed=seed, index=index)
        field = _held_field(system, [action for action in actions if isinstance(action, HeldAction)])
        solution = integrate(
            field,
            system.pack(state),
            t_start=start,
            t_end=end,
            method="DOP853",
            rtol=config.rtol,
            atol=config.atol,
        )
        solved = SolvedFlow(config, target, solution, heads_of_system(system))
        times = np.linspace(start, end, config.points)
        parts.append(to_trajectory(solved, times if start == at else times[1:]))
        y = solution.states[-1]
    if len(parts) == 1:
        return parts[0]
    import xarray as xr

    return xr.concat(parts, dim="step", data_vars="minimal", join="exact", combine_attrs="override")


def _checked(text: str, config: FlowConfig) -> Action:
    action = parse_action(text)
    if not isinstance(action, (Ablate, Clamp, Copy, Freeze, Perturb, Reset, Scale, Sham, Swap, Tie)):
        raise ConfigError(f"{action}: the flow has no such action")
    if isinstance(action, HeldAction) and action.until is not None:
        raise ConfigError(f"{action}: give until to branch_flow, for all actions")
    if (isinstance(action, Perturb) and action.along is not None) or (
        isinstance(action, Ablate) and action.put == "mean"
    ):
        raise ConfigError(f"{action}: the flow takes noise and zero only")
    try:
        action.check(_like(config), TaskConfig(h=config.h, w=config.h))
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return action


def _check_ties(actions: Sequence[Action], model: ModelConfig) -> None:
    """Refuse ties of held heads: in the flow what is held is the state itself, which tied heads share."""
    for tie in (action for action in actions if isinstance(action, Tie)):
        for held in (action for action in actions if isinstance(action, (Ablate, Clamp))):
            if not set(tie.places(model)).isdisjoint(held.places(model)):
                raise ConfigError(f"{tie} and {held}: a head of the flow cannot be both; tie others, or hold all apart")


def _like(config: FlowConfig) -> ModelConfig:
    """A model with the heads of the flow, in one block."""
    return ModelConfig(heads=head_count(config))


def _heads(action: Action, count: int) -> list[int]:
    return list(range(count)) if action.heads == "all" else [head - 1 for head in action.heads]


def _set(action: Action, state: State, system: System, first: Array, *, seed: int, index: int) -> State:
    """The state after an action has set it."""
    c, q = state.coefficients.copy(), state.moving.copy()
    heads = _heads(action, system.heads)
    part = getattr(action, "part", "all")
    chosen = [a for a, name in ((c, "values"), (q, "attention")) if part in (name, "all")]
    if isinstance(action, Copy):
        for array in chosen:
            array[heads] = array[action.source - 1]
    elif isinstance(action, Swap):
        for array in chosen:
            array[heads] = array[heads[::-1]]
    elif isinstance(action, Scale):
        for array in chosen:
            array[heads] *= action.by
    elif isinstance(action, Tie):
        for array in chosen:
            array[heads] = array[heads].mean(0)
    elif isinstance(action, Perturb):
        rng = generator(seed, Stream.NOISE, 0, index, action.draw)
        for array in chosen:
            array[heads] += action.size * rng.standard_normal(array[heads].shape)
    elif isinstance(action, Reset):
        for array, begun in ((c, np.zeros_like(c)), (q, first)):
            if any(array is one for one in chosen):
                array[heads] = begun[heads]
    elif isinstance(action, Ablate):
        c[heads] = 0.0
    elif isinstance(action, Clamp) and action.to != "past":
        pattern = np.full(q.shape[1], 1 / q.shape[1])
        if action.to != "uniform":
            pattern = system.target.ideal_attention[int(action.to[5:]) - 1]
        q[heads] = centred_logits(np.maximum(pattern, NOTHING))
    assert np.isfinite(softmax(q)).all()
    return replace(state, coefficients=c, moving=q)


def _held_field(system: System, held: Sequence[HeldAction]) -> Callable[[float, Array], Array]:
    """The right-hand side with what is held standing still, and tied heads moving together."""
    if not held:
        return system.field

    def field(t: float, y: Array) -> Array:
        velocity = system.unpack(system.field(t, y).copy())
        parts = {"values": velocity.coefficients, "attention": velocity.moving}
        for action in held:
            heads = _heads(action, system.heads)
            for name, array in parts.items():
                still = (
                    isinstance(action, Ablate)
                    or (isinstance(action, Clamp) and name == "attention")
                    or (isinstance(action, Freeze) and action.part in (name, "all"))
                )
                if still:
                    array[heads] = 0.0
                elif isinstance(action, Tie) and action.part in (name, "all"):
                    array[heads] = array[heads].mean(0)
        return system.pack(velocity)

    return field
