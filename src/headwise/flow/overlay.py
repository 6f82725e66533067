"""Theory over simulation (App. D, second figure): simplified systems started at stage boundaries, beside the full flow.

Twice: as the paper describes it, the ensemble frozen on position 1 and the start of Remark init_loss with an ε of one's
own choice; and with the two-group model started from the flow's own state. Both follow the head that the full flow
itself lets go. At stage h only one head stays, and the two-group model is then the flow itself. Pure data: deviations
are numbers here, curves are drawn elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from headwise.core.errors import ConfigError
from headwise.flow.heads import Heads, group_means, heads_of_nth_head, heads_of_system
from headwise.flow.reduction import State, System
from headwise.flow.simplex import Array, centred_logits
from headwise.flow.simulate import SolvedFlow
from headwise.flow.solve import Solution, integrate
from headwise.flow.stages import offshoots, stage_times
from headwise.flow.systems import best_values, cooperative, grouped, nth_head, perturbed_start

Theory = Literal["printed", "two-group"]
THEORIES: tuple[Theory, ...] = ("printed", "two-group")

STAGE_STARTS = (25.0, 300.0)
"""Where the paper's figure starts the theories of stages 2 and 3."""


@dataclass(frozen=True, eq=False)
class Overlay:
    """One stage: attention on groups and alignments (t, H, n) of flow and theory, heads in the flow's order.

    `leaver` is the head (from 0) that the flow lets go in this stage.
    """

    stage: int
    theory: Theory
    times: Array
    flow_attention: Array
    flow_alignment: Array
    theory_attention: Array
    theory_alignment: Array
    leaver: int

    @property
    def attention_deviation(self) -> float:
        """Largest difference in attention on a group."""
        return float(np.abs(self.flow_attention - self.theory_attention).max())

    @property
    def value_deviation(self) -> float:
        """Largest difference in an alignment."""
        return float(np.abs(self.flow_alignment - self.theory_alignment).max())

    @property
    def median_deviations(self) -> tuple[float, float]:
        """Over time, the median of the largest difference in attention and in alignment."""
        attention = np.abs(self.flow_attention - self.theory_attention).max((1, 2))
        value = np.abs(self.flow_alignment - self.theory_alignment).max((1, 2))
        return float(np.median(attention)), float(np.median(value))

    def until(self, end: float) -> Overlay:
        """The same up to a time."""
        kept = self.times <= end
        return replace(
            self,
            times=self.times[kept],
            flow_attention=self.flow_attention[kept],
            flow_alignment=self.flow_alignment[kept],
            theory_attention=self.theory_attention[kept],
            theory_alignment=self.theory_alignment[kept],
        )

    def __str__(self) -> str:
        attention, value = self.median_deviations
        return (
            f"{self.theory}, stage {self.stage}: largest deviation {self.attention_deviation:.2f} in attention, "
            f"{self.value_deviation:.2f} in values; median over time {attention:.2f} and {value:.2f}"
        )


def overlay_stages(flow: SolvedFlow) -> list[Overlay]:
    """Both theories over stages 2 and 3, from the paper's boundaries on; a stage that no head leaves for is left out.

    >>> from headwise.flow.config import FlowConfig
    >>> from headwise.flow.simulate import solve_flow
    >>> flow = solve_flow(FlowConfig(start="B", t_end=400.0))
    >>> [(found.stage, found.theory) for found in overlay_stages(flow)]
    [(2, 'printed'), (2, 'two-group')]
    """
    end = float(flow.solution.steps[-1])
    if end <= STAGE_STARTS[-1]:
        raise ConfigError(
            f"--overlay shows the stages that start at t = {STAGE_STARTS[0]:g} and t = {STAGE_STARTS[1]:g}; "
            f"give --t-end above {STAGE_STARTS[1]:g}"
        )
    ends = (*STAGE_STARTS[1:], end)
    found = [
        overlay(flow, stage=stage, start=start, end=until, theory=theory)
        for theory in THEORIES
        for stage, (start, until) in enumerate(zip(STAGE_STARTS, ends, strict=True), start=2)
    ]
    return [one for one in found if one is not None]


def overlay(
    flow: SolvedFlow, *, stage: int, start: float, end: float, theory: Theory, epsilon: float = 0.005, points: int = 400
) -> Overlay | None:
    """Overlay one theory on stage 2 or later of a flow of all heads, from `start` to `end`; None if nobody leaves."""
    left = {o.target: o.head - 1 for o in offshoots(flow.heads_at, flow.solution, _times(flow))}
    if stage not in left:
        return None
    learned = [left[k] for k in range(2, stage) if k in left]
    times = np.linspace(start, end, points)
    seen = flow.heads(times)
    staying = [k for k in range(seen.attention.shape[1]) if k != left[stage] and k not in learned]
    # The theories know staying, learned and leaving heads, in this order; the overlay has the flow's own.
    back = np.argsort([*staying, *learned, left[stage]])
    solve = _printed if theory == "printed" else _grouped
    theory_path = solve(flow, stage, times, staying, learned, left[stage], epsilon)
    return Overlay(
        stage,
        theory,
        times,
        seen.group_attention,
        seen.alignment,
        theory_path.group_attention[:, back],
        theory_path.alignment[:, back],
        left[stage],
    )


def _times(flow: SolvedFlow) -> list[float | None]:
    return stage_times(flow.target, flow.heads_at, flow.solution)


def _solve(system: System, state: State, times: Array) -> Solution:
    return integrate(
        system.field, system.pack(state), t_start=times[0], t_end=times[-1], method="LSODA", rtol=1e-9, atol=1e-12
    )


def _printed(
    flow: SolvedFlow, stage: int, times: Array, staying: list[int], learned: list[int], leaver: int, epsilon: float
) -> Heads:
    """Attention of all other heads frozen on the groups they have learned; ε from the theoretical start."""
    target, heads = flow.target, len(staying) + len(learned) + 1
    free, s = perturbed_start(target, heads=heads, n=stage, epsilon=epsilon)
    if stage == 2:
        system = cooperative(target, heads)
        best = best_values(target, target.ideal_attention[:1], multiplicity=np.array([heads - 1.0]), head=free, s=s)
        solution = _solve(system, State(np.stack([best[0], free]), s[None]), times)
        return heads_of_system(system)(solution.at(times))
    system = nth_head(target, stage)
    solution = _solve(system, State(free[None], s[None]), times)
    return heads_of_nth_head(system, heads=heads, n=stage)(solution.at(times))


def _grouped(
    flow: SolvedFlow, stage: int, times: Array, staying: list[int], learned: list[int], leaver: int, epsilon: float
) -> Heads:
    """The staying heads as one ensemble whose attention moves; every other head on its own; started from the flow."""
    groups = [staying, *([k] for k in learned), [leaver]]
    coefficients, attention, outside = group_means(flow.heads(times[:1]), groups)
    sizes = np.array([float(len(group)) for group in groups])
    system = grouped(flow.target, sizes, outside=outside, metric=flow.config.metric)
    mixing = None if outside is None else np.eye(len(groups))
    solution = _solve(system, State(coefficients, centred_logits(attention), mixing), times)
    return heads_of_system(system)(solution.at(times))
