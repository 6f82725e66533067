"""From a config and a seed to a Trajectory (App. D), and to the numbers a person asks of one flow.

The trajectory has the variable names of every other source; `step` is time and a position is the lag of the same
number. Values are measured against features of unit norm.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.config import validated
from headwise.core.named_options import named_options
from headwise.core.seeds import check_seed
from headwise.core.trajectory import assemble, head_overlap
from headwise.flow.config import FlowConfig, group_positions, group_weights, head_count
from headwise.flow.full import FullSystem
from headwise.flow.grid import choose_times
from headwise.flow.heads import Heads, HeadsAt, group_means, heads_of_full, heads_of_nth_head, heads_of_system
from headwise.flow.prediction import StageTimes, predict
from headwise.flow.reduction import State, System
from headwise.flow.simplex import Array, centred_logits, softmax
from headwise.flow.solve import Solution, integrate, integrate_euler
from headwise.flow.stages import negative_alignments, offshoots, stage_times
from headwise.flow.start import initial_logits, initial_matrices, initial_values
from headwise.flow.systems import (
    all_heads,
    best_values,
    cooperative,
    coupled,
    grouped,
    nth_head,
    perturbed_start,
)
from headwise.flow.target import Target, build_target, feature_matrices

if TYPE_CHECKING:
    import xarray as xr

DEFAULT = FlowConfig()

LOSS_TIMES = (25.0, 300.0, 3000.0)
"""Times of the summary's `loss_at`: the paper's two stage boundaries and the default end."""


@dataclass(frozen=True, eq=False)
class SolvedFlow:
    """A flow with its solution still continuous in time."""

    config: FlowConfig
    target: Target
    solution: Solution
    heads_at: HeadsAt

    def heads(self, times: Array) -> Heads:
        """All heads at any times."""
        return self.heads_at(self.solution.at(times))


def solve_flow(config: FlowConfig, seed: int = 0) -> SolvedFlow:
    """Solve the system that the config names."""
    config = validated(FlowConfig, config)
    check_seed(seed)
    target = build_target(config, seed)
    if config.state == "full":
        features, heads = feature_matrices(config, seed), head_count(config)
        q = initial_logits(config, seed)
        full = FullSystem(target, features, heads, metric=config.metric, chart=config.chart)
        y = full.pack(initial_matrices(config, seed), q if config.chart == "q" else softmax(q))
        method = "DOP853" if config.method == "euler" else config.method
        solution = integrate(full.field, y, t_end=config.t_end, method=method, rtol=config.rtol, atol=config.atol)
        return SolvedFlow(config, target, solution, heads_of_full(full))
    system, state, t_start = _begin(config, target, seed)
    y = system.pack(state)
    if config.method == "euler":
        solution = integrate_euler(system, y, t_start=t_start, t_end=config.t_end, step=config.euler_step)
    else:
        solution = integrate(
            system.field,
            y,
            t_start=t_start,
            t_end=config.t_end,
            method=config.method,
            rtol=config.rtol,
            atol=config.atol,
        )
    if config.system in ("two-scale", "nth-head"):
        n = 2 if config.system == "two-scale" else config.nth
        return SolvedFlow(config, target, solution, heads_of_nth_head(system, heads=head_count(config), n=n))
    return SolvedFlow(config, target, solution, heads_of_system(system))


def _begin(config: FlowConfig, target: Target, seed: int) -> tuple[System, State, float]:
    """The system, its start and its start time."""
    heads, metric = head_count(config), config.metric
    chart = "s" if config.method == "euler" else config.chart
    if config.system in ("heads", "coupled"):
        q = initial_logits(config, seed)
        coefficients, outside = initial_values(config, seed)
        if config.system == "coupled":
            q, coefficients = q.mean(0, keepdims=True), coefficients.mean(0, keepdims=True)
            outside = None if outside is None else outside.mean(keepdims=True)
            system = coupled(target, heads, outside=outside, metric=metric, chart=chart)
            mixing = None if outside is None else np.eye(1)
            return system, State(coefficients, q if chart == "q" else softmax(q), mixing), 0.0
        system = all_heads(target, heads, outside=outside, metric=metric, chart=chart)
        mixing = None if outside is None else np.eye(heads)
        return system, State(coefficients, q if chart == "q" else softmax(q), mixing), 0.0
    if config.system == "two-group":
        before = config.changed({"system": "heads", "t_end": config.boundary, "method": "DOP853"})
        flow = solve_flow(before, seed)
        now = flow.heads(np.array([config.boundary]))
        leaver = likely_leaver(now)
        groups = [[k for k in range(heads) if k != leaver], [leaver]]
        coefficients, s, outside = group_means(now, groups)
        system = grouped(target, np.array([heads - 1.0, 1.0]), outside=outside, metric=metric, chart=chart)
        mixing = None if outside is None else np.eye(2)
        return system, State(coefficients, centred_logits(s) if chart == "q" else s, mixing), config.boundary
    n = config.nth if config.system == "nth-head" else 2
    free, s = perturbed_start(target, heads=heads, n=n, epsilon=config.epsilon)
    if config.system == "cooperative":
        system = cooperative(target, heads, metric=metric)
        best = best_values(target, target.ideal_attention[:1], multiplicity=np.array([heads - 1.0]), head=free, s=s)
        return system, State(np.stack([best[0], free]), s[None]), 0.0
    return nth_head(target, n, metric=metric), State(free[None], s[None]), 0.0


def likely_leaver(now: Heads, feature: int = 1) -> int:
    """The head (from 0) whose value leans most towards a feature (from 0) at one time: the next to leave."""
    return int(np.argmax(now.alignment[0, :, feature]))


@dataclass(frozen=True, eq=False)
class Samples:
    """A flow at some times: arrays under their trajectory names, ready to be stored or to become a trajectory."""

    times: Array
    variables: dict[str, Array]
    coordinates: dict[str, Any]
    attributes: dict[str, Any]


def sample_flow(flow: SolvedFlow, times: Array | None = None) -> Samples:
    """A solved flow at given times, or on the grid of its own config."""
    config = flow.config
    if times is None:
        times = choose_times(flow.solution, flow.heads_at, grid=config.grid, points=config.points)
    heads = flow.heads(times)
    attention = heads.attention
    surprise = np.log(np.where(attention > 0, attention, 1.0))
    variables = {
        "excess_loss": heads.loss,
        "loss": heads.loss[:, None],
        "loss_part": heads.loss_part,
        "attention_by_lag": attention[:, None],
        "attention_by_group": heads.group_attention[:, None],
        "attention_entropy": -(attention * surprise).sum(-1)[:, None],
        "value_alignment": heads.alignment[:, None],
        "value_cosine": heads.cosine[:, None],
        "value_coefficient": heads.coefficients[:, None],
        "head_overlap": head_overlap(attention)[:, None],
    }
    attributes = {
        "source": "flow",
        "groups": [list(group) for group in group_positions(config)],
        "alpha": [list(weights) for weights in group_weights(config)],
        "strengths": flow.target.strengths.tolist(),
        "plateaus": flow.target.plateaus.tolist(),
        "system": config.system,
    }
    return Samples(times, variables, {"split": ["population"], "lag": list(range(1, config.T + 1))}, attributes)


def to_trajectory(flow: SolvedFlow, times: Array | None = None) -> xr.Dataset:
    """A solved flow as a trajectory, on its config's own grid unless times are given."""
    samples = sample_flow(flow, times)
    return assemble(samples.variables, {**samples.coordinates, "step": samples.times}, samples.attributes)


@named_options
def simulate(config: FlowConfig = DEFAULT, seed: int = 0) -> xr.Dataset:
    """The trajectory of the regression flow of §3, solved here and kept nowhere; its `step` is time.

    >>> from headwise import FlowConfig, simulate
    >>> trajectory = simulate(FlowConfig(start="B", t_end=200.0))
    >>> round(float(trajectory.excess_loss.sel(step=100, method="nearest")), 2)
    1.96
    """
    return to_trajectory(solve_flow(config, seed))


def summarise(flow: SolvedFlow, seed: int = 0) -> dict[str, Any]:
    """Stage times, offshoots, plateaus, losses, dips and predictions of one flow, ready for JSON."""
    times = stage_times(flow.target, flow.heads_at, flow.solution)
    left = offshoots(flow.heads_at, flow.solution, times)
    first, last = flow.solution.steps[0], flow.solution.steps[-1]
    watched = np.array([t for t in LOSS_TIMES if first <= t <= last])
    losses = flow.heads(watched).loss if len(watched) else np.array([])
    forecast = _forecast(flow, seed)
    return {
        "stage_times": times,
        "offshoots": [{"step": o.step, "head": o.head, "from": o.source, "to": o.target} for o in left],
        "plateaus": flow.target.plateaus.tolist(),
        "loss_at": {f"{t:g}": float(value) for t, value in zip(watched, losses, strict=True)},
        "dips": [asdict(lowest) for lowest in negative_alignments(flow.heads_at, flow.solution, left)],
        "predicted": {
            "t1": forecast.t1,
            "t1_closed_form": forecast.t1_closed,
            "t2": forecast.t2,
            "t2_head": forecast.t2_head,
        },
    }


def _forecast(flow: SolvedFlow, seed: int) -> StageTimes:
    """Predictions hold for all heads from V = 0 under Π²; elsewhere there are none."""
    config = flow.config
    if config.system != "heads" or config.metric != "squared" or config.values != "zero":
        return StageTimes(None, None, None, None)
    return predict(flow.target, initial_logits(config, seed), t_end=config.t_end)
