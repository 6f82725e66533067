"""A flow as a run like any other: solved once, kept under its settings, and read from disk from then on."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.config import validated
from headwise.core.errors import CorruptData
from headwise.core.named_options import named_options
from headwise.core.seeds import check_seed
from headwise.core.text import wrap
from headwise.flow.config import FlowConfig
from headwise.store import RunDirectory, RunIdentity, check_writable, describe_run, find_run, load_trajectory, now
from headwise.store.cures import to_be_removed

if TYPE_CHECKING:
    import xarray as xr

DEFAULT = FlowConfig()

RESULTS = "results"
"""Key of the manifest under which a flow's numbers are kept."""


@dataclass(frozen=True, eq=False)
class StoredFlow:
    """A flow on disk: where it is, its trajectory, and the numbers that `headwise flow` prints (`str` of this)."""

    run: Path
    trajectory: xr.Dataset = field(repr=False)
    results: Mapping[str, Any] = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """`run`, `stage_times`, `offshoots`, `plateaus`, `loss_at`, `dips` and `predicted`, ready for JSON."""
        keys = ("stage_times", "offshoots", "plateaus", "loss_at", "dips", "predicted")
        return {"run": str(self.run), **{key: self.results[key] for key in keys}}

    def __str__(self) -> str:
        results = self.results
        predicted = results["predicted"]
        lines = [str(self.run)]
        lines.append(_listed("stage times", ["never" if t is None else f"{t:.3f}" for t in results["stage_times"]]))
        if predicted["t1"] is not None:
            second = "none" if predicted["t2"] is None else f"{predicted['t2']:.2f} by head {predicted['t2_head']}"
            lines.append(f"predicted    t1 {predicted['t1']:.3f}  t2 {second}")
        lines += [
            f"head {left['head']} leaves group {left['from']} for group {left['to']} at {left['step']:.1f}"
            for left in results["offshoots"]
        ]
        lines.append(_listed("plateaus", [f"{level:.5g}" for level in results["plateaus"]]))
        lines.append(_listed("loss at", [f"{time}: {loss:.6f}" for time, loss in results["loss_at"].items()]))
        return "\n".join(lines)


@named_options
def keep_flow(config: FlowConfig = DEFAULT, seed: int = 0, *, out: Path | str = "runs") -> StoredFlow:
    """The flow of a config and a seed, read from `out` where it has been kept before, otherwise solved and kept there.

    >>> import tempfile
    >>> from headwise import FlowConfig, keep_flow
    >>> with tempfile.TemporaryDirectory() as out:
    ...     flow = keep_flow(FlowConfig(start="B", t_end=30.0), out=out)
    >>> [round(time, 1) for time in flow.results["stage_times"] if time is not None]
    [21.7]
    """
    config = validated(FlowConfig, config)
    check_seed(seed)
    run = RunDirectory(flow_path(config, seed, out))
    try:
        run.require_same(flow_identity(config, seed))
        manifest = run.read_manifest()
        if manifest is None:
            check_writable(out)
            manifest = _solve_into(run, config, seed)
        run.read_config()
        trajectory = load_trajectory(run.path)
    except CorruptData as error:
        raise to_be_removed(error, run.path, then="solve the flow again") from error
    return StoredFlow(run.path, trajectory, manifest.get(RESULTS) or _results(config, seed))


def flow_path(config: FlowConfig, seed: int, out: Path | str) -> Path:
    """Where a flow is kept."""
    return find_run(out, experiment="flow", identity=flow_identity(config, seed))


def flow_identity(config: FlowConfig, seed: int) -> RunIdentity:
    """What every file of a flow carries: its settings and its seed."""
    return RunIdentity(config.model_dump(mode="json"), seed)


def _results(config: FlowConfig, seed: int) -> dict[str, Any]:
    """The numbers of a flow that an earlier version stored without them."""
    from headwise.flow.simulate import solve_flow, summarise

    return summarise(solve_flow(config, seed), seed)


def _solve_into(run: RunDirectory, config: FlowConfig, seed: int) -> dict[str, Any]:
    """Solve a flow and write it into its run directory, where nothing is left of a flow that cannot be solved.

    Returns the manifest as it was stored.
    """
    from headwise.flow.simulate import sample_flow, solve_flow, summarise

    started = now()
    flow = solve_flow(config, seed)
    samples = sample_flow(flow)
    end = int(np.ceil(samples.times[-1]))
    with run.writing():
        if (stored := run.read_manifest()) is not None:
            return stored
        run.require_same(flow_identity(config, seed))
        run.discard_after(-1)
        run.start(
            config.model_dump(mode="json"),
            identity=flow_identity(config, seed),
            coordinates=samples.coordinates,
            attributes={**samples.attributes, "experiment": "flow", "seed": seed},
        )
        run.write_metrics(end, steps=samples.times, variables=samples.variables)
        about = describe_run(
            status="finished",
            steps=end,
            device="cpu",
            threads=1,
            argv=sys.argv,
            started=started,
            ended=now(),
            engine=config.method,
        )
        run.finish({**about, RESULTS: summarise(flow, seed)})
        manifest = run.read_manifest()
    assert manifest is not None
    return manifest


def _listed(name: str, values: list[str]) -> str:
    return wrap("  ".join(values), indent=f"{name:<13}", hanging=" " * 13)
