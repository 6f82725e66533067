"""How much faster an ensemble is than a loop over the full system, measured interleaved on a sample.

The opponent is SciPy's DOP853 on the d × d matrices, one flow after another in one process, at the same tolerances.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from scipy.integrate import solve_ivp

from headwise.flow.config import FlowConfig, head_count
from headwise.flow.ensemble import ensemble
from headwise.flow.full import FullSystem
from headwise.flow.start import initial_logits, initial_matrices
from headwise.flow.target import build_target, feature_matrices


@dataclass(frozen=True)
class SpeedReport:
    """Seconds for the whole ensemble, seconds per flow of the loop, and how many times faster the ensemble is."""

    flows: int
    workers: int
    ensemble_seconds: float
    loop_seconds_per_flow: float
    loop_sample: int

    @property
    def ratio(self) -> float:
        """Loop time for all flows, extrapolated from the sample, over ensemble time."""
        return self.loop_seconds_per_flow * self.flows / self.ensemble_seconds


def loop_once(config: FlowConfig, seed: int) -> float:
    """Seconds that SciPy's DOP853 takes for one flow of the full system."""
    full = FullSystem(build_target(config, seed), feature_matrices(config, seed), head_count(config))
    y = full.pack(initial_matrices(config, seed), initial_logits(config, seed))
    began = time.perf_counter()
    solve_ivp(full.field, (0.0, config.t_end), y, method="DOP853", rtol=config.rtol, atol=config.atol)
    return time.perf_counter() - began


def measure_speed(
    config: FlowConfig,
    *,
    flows: int = 1000,
    sample: int = 6,
    workers: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> SpeedReport:
    """Time the ensemble in `sample` parts, one loop flow before each part, so that a busy machine slows both alike."""
    config = config.changed({"system": "heads", "state": "reduced"})
    loop, spent, done = 0.0, 0.0, 0
    for part in range(sample):
        loop += loop_once(config, part)
        seeds = range(part * flows // sample, (part + 1) * flows // sample)
        began = time.perf_counter()
        ensemble([(config, seed) for seed in seeds], workers=workers)
        spent += time.perf_counter() - began
        done += len(seeds)
        if progress is not None:
            progress(done, flows)
    return SpeedReport(flows, workers, spent, loop / sample, sample)


def main() -> None:
    """Measure at the defaults and print: `python -m headwise.bench.flow_speed`."""
    report = measure_speed(FlowConfig())
    print(
        f"{report.flows} flows: {report.ensemble_seconds:.1f} s on {report.workers} processes; "
        f"full system by SciPy {report.loop_seconds_per_flow:.2f} s a flow; {report.ratio:.0f} times faster"
    )


if __name__ == "__main__":
    main()
