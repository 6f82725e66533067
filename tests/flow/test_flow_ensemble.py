"""Batches against SciPy one flow at a time; parallel against serial; memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from headwise.flow.config import FlowConfig
from headwise.flow.ensemble import ensemble, solve_together
from headwise.flow.simulate import solve_flow
from headwise.flow.stages import offshoots, stage_times

MIXED = [
    (FlowConfig(T=12, m=1.7, t_end=500.0, noise_scale=0.05), 0),
    (FlowConfig(T=12, m=1.4, t_end=500.0, noise_scale=0.05), 1),
    (FlowConfig(T=12, m=1.4, t_end=500.0, features="haar", d=5, noise_scale=0.05), 2),
    (FlowConfig(T=12, m=1.5, t_end=500.0, values="gaussian", d=4, noise_scale=0.05), 3),
    (FlowConfig(T=12, m=1.5, t_end=500.0, values="gaussian", features="correlated", correlation=0.2, d=4), 4),
    (FlowConfig(T=9, h=2, t_end=300.0, metric="plain"), 5),
]


def test_a_batch_solves_what_scipy_solves() -> None:
    for (config, seed), summary in zip(MIXED, ensemble(MIXED, workers=1), strict=True):
        flow = solve_flow(config, seed)
        times = stage_times(flow.target, flow.heads_at, flow.solution)
        assert summary.seed == seed
        for ours, theirs in zip(summary.stage_times, times, strict=True):
            assert (ours is None) == (theirs is None)
            if ours is not None:
                assert ours == pytest.approx(theirs, rel=1e-6)
        assert summary.final_loss == pytest.approx(flow.heads(np.array([config.t_end])).loss[0], rel=1e-5, abs=1e-9)
        left = offshoots(flow.heads_at, flow.solution, times)
        assert [summary.stage_heads[o.target - 1] for o in left] == [o.head for o in left]
        lowest = flow.heads(np.linspace(0, config.t_end, 2000)).alignment.min(0)
        np.testing.assert_allclose(summary.lowest_alignment, lowest, atol=0.02)


def test_order_and_batching_do_not_matter() -> None:
    told: list[tuple[int, int]] = []
    whole = ensemble(MIXED[:3], workers=1)
    split = ensemble(MIXED[:3], workers=1, batch=1, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    for a, b in zip(whole, split, strict=True):
        np.testing.assert_allclose(np.array(a.stage_times, float), np.array(b.stage_times, float), rtol=1e-7)
        assert (a.seed, a.stage_features, a.owners) == (b.seed, b.stage_features, b.owners)


def test_processes_give_what_one_process_gives() -> None:
    flows = [(FlowConfig(T=8, h=2, t_end=100.0), seed) for seed in range(6)]
    serial, parallel = ensemble(flows, workers=1, batch=3), ensemble(flows, workers=2, batch=3)
    assert serial == parallel


def test_memory_is_bounded_by_the_batch() -> None:
    flows = [(FlowConfig(T=10, h=2, t_end=4.0), seed) for seed in range(64)]

    def peak(count: int) -> int:
        tracemalloc.start()
        for first in range(0, count, 16):
            solve_together(flows[first : first + 16])
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(16)
    assert peak(64) < 1.5 * peak(16)
