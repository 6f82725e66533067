"""App. D, second figure: whether the simplified systems, started at t = 25, trace the full flow to t = 300.

At t = 25 the full flow still has s_1 ≈ 0.42, because attention concentrates like t^{-1/2}: freezing the ensemble at
s_1* misses from the first moment, whatever ε. A two-group model, whose ensemble moves, started from the flow's own
state, follows until the ensemble itself splits. Both are held to the same standard: a median over seeds of the largest
deviation in attention.
"""

from __future__ import annotations

import numpy as np

from headwise.flow.config import FlowConfig
from headwise.flow.overlay import Overlay, Theory, overlay
from headwise.flow.simulate import solve_flow
from headwise.theory.statement import Outcome, Statement, approximation

FAR = 0.25
"""A median deviation in attention beyond this is no longer tracing. A convention, wide enough that the scatter of a
median of eight seeds does not decide: over 32 seeds the two-group model has median 0.09 (three quarters below 0.19,
worst 0.44), and 15 % of medians of eight exceed 0.15, 1 % exceed 0.25. The frozen ensemble is near 0.6."""

START, END = 25.0, 300.0
"""Times between which the paper lays its theory over the flow."""


def overlays(rng: np.random.Generator, trials: int, theory: Theory, epsilon: float = 0.005) -> list[Overlay]:
    """Stage 2 of a few noisy flows."""
    found = []
    for seed in rng.integers(1 << 30, size=min(max(trials // 2, 3), 8)):
        flow = solve_flow(FlowConfig(t_end=400.0, rtol=1e-8, atol=1e-11), int(seed))
        followed = overlay(flow, stage=2, start=START, end=END, theory=theory, epsilon=epsilon)
        if followed is not None:
            found.append(followed)
    return found


def _numbers(overlaid: list[Overlay]) -> str:
    s = [o.attention_deviation for o in overlaid]
    v = [o.value_deviation for o in overlaid]
    return (
        f"largest deviation in s: median {np.median(s):.2f}, worst {max(s):.2f}; "
        f"in V: median {np.median(v):.2f}, worst {max(v):.2f}, over {len(overlaid)} seeds"
    )


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    """The best of three ε for every seed, and still far off."""
    seed = int(rng.integers(1 << 30))
    tries = [overlays(np.random.default_rng(seed), trials, "printed", eps) for eps in (0.004, 0.0055, 0.007)]
    best = [min(options, key=lambda o: o.attention_deviation) for options in zip(*tries, strict=True)]
    middle = float(np.median([o.attention_deviation for o in best]))
    return approximation([middle], within=FAR, evidence=f"frozen ensemble, ε tuned per seed: {_numbers(best)}")


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    overlaid = overlays(rng, trials, "two-group")
    middle = float(np.median([o.attention_deviation for o in overlaid]))
    return approximation([middle], within=FAR, evidence=f"two-group model: {_numbers(overlaid)}")


STATEMENT = Statement(
    "theory-over-simulation",
    "App. D, theory over simulation",
    f"the cooperative system from its theoretical start at t = {START:g} quantitatively traces the full flow",
    "the two-group model from the flow's own state does, until the ensemble splits",
    as_printed,
    as_corrected,
)
