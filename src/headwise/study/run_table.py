"""The runs kept under a directory as a table that tells them apart: the keys that differ, how each ended, stages."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from headwise.core.errors import ConfigError, CorruptData
from headwise.core.keys import flatten, nearest_key
from headwise.core.named_options import named_options
from headwise.core.text import text_table, wrap
from headwise.store import RunDirectory, RunRecord, load_trajectory
from headwise.store.labels import read_label
from headwise.store.listing import Care
from headwise.store.listing import list_runs as runs_below
from headwise.study.collect import phase_columns

STAGE_VIEWS = ("function", "loss", "heads")
"""Where the number of stages is read: the first of these that has one."""

UNSET = "-"
OWN_COLUMNS = ("experiment", "label", "seed", "status", "steps", "loss", "stages", "age", "size")
"""What a list can be sorted by, besides any config key."""


@dataclass(frozen=True)
class ListedRun(RunRecord):
    """A run with what tells it from others."""

    config: Mapping[str, Any] = field(default_factory=dict)
    """Its config, keys with dots; empty where it cannot be read."""
    final: Mapping[str, float] = field(default_factory=dict)
    """The last values of its excess loss and losses, as far as it has them."""
    stages: int | None = None
    label: str | None = None
    """What its owner calls it."""
    written: float = 0.0
    """When something was last written, in seconds since 1970."""

    @property
    def loss(self) -> float | None:
        """The last excess loss, or where the true law is not known the last loss."""
        return next((value for value in self.final.values() if np.isfinite(value)), None)


class RunTable(list[ListedRun]):
    """The runs below an output root; `str` of this is what `headwise list --runs` prints."""

    def __init__(self, runs: Iterable[ListedRun], *, root: Path) -> None:
        super().__init__(runs)
        self.root = root

    def to_json(self) -> list[dict[str, Any]]:
        """Everything about each run, with its whole config, ready for JSON."""
        return [
            {
                "run": str(run.path),
                "experiment": run.experiment,
                "label": run.label,
                "seed": run.seed,
                "status": run.status,
                "steps": run.steps,
                "bytes": run.size_bytes,
                "problem": run.problem,
                "final": {name: value if np.isfinite(value) else None for name, value in run.final.items()},
                "stages": run.stages,
                "written": run.written,
                "config": dict(run.config),
            }
            for run in self
        ]

    def __str__(self) -> str:
        if not self:
            return f"no runs under {self.root}"
        names = _short_names(self, self.root)
        parts = []
        for experiment, group in groupby(self, key=lambda run: run.experiment):
            runs = list(group)
            count = f"{len(runs)} run{'s' if len(runs) > 1 else ''}"
            parts.append(f"{experiment}, {count} below {self.root}\n{_table(runs, names)}")
            parts += [wrap(f"{names[run.path]}: {run.problem}", hanging="    ") for run in runs if run.problem]
        return "\n\n".join(parts)


@named_options
def list_runs(
    root: Path | str,
    *,
    care: Care = "quick",
    sort: str = "experiment",
    reverse: bool = False,
    stages: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> RunTable:
    """Every run below an output root with its config, last losses and number of stages; `care="full"` verifies bytes.

    `sort` names a column or a config key; with `reverse` the largest comes first. Without `stages` no trajectory
    is read, which is faster where there are thousands of runs; the columns of losses and stages are then empty.

    >>> import tempfile
    >>> from headwise import FlowConfig, keep_flow, list_runs
    >>> with tempfile.TemporaryDirectory() as out:
    ...     _ = keep_flow(FlowConfig(T=5, t_end=3.0), out=out)
    ...     runs = list_runs(out)
    >>> [(run.experiment, run.seed, run.status, run.steps) for run in runs]
    [('flow', 0, 'finished', 3)]
    """
    root = Path(root)
    records = runs_below(root, care=care)
    listed = []
    for done, record in enumerate(records, start=1):
        listed.append(_listed(record, read_curves=stages))
        progress(done, len(records))
    return RunTable(_sorted(listed, sort, backwards=reverse), root=root)


def _listed(record: RunRecord, *, read_curves: bool) -> ListedRun:
    config: dict[str, Any] = {}
    final: dict[str, float] = {}
    stages = None
    try:
        config = flatten(RunDirectory(record.path).read_config())
        if read_curves and record.status != "damaged" and record.steps > 0:
            final, stages = _ending(record.path)
    except (CorruptData, ConfigError):
        pass  # what can be known of it stands in its status; `headwise verify` says more
    own = {one.name: getattr(record, one.name) for one in dataclasses.fields(RunRecord)}
    label = read_label(record.path) or config.get("label")
    return ListedRun(**own, config=config, final=final, stages=stages, label=label, written=record.path.stat().st_mtime)


def _ending(path: Path) -> tuple[dict[str, float], int | None]:
    trajectory = load_trajectory(path)
    final = {}
    if "excess_loss" in trajectory:
        final["excess_loss"] = float(trajectory["excess_loss"].values[-1])
    if "loss" in trajectory:
        last = trajectory["loss"].isel(step=-1)
        values = dict(zip(last["split"].values.tolist(), last.values.tolist(), strict=True)) if last.ndim else {}
        final |= {f"loss.{split}": float(value) for split, value in values.items()}
    columns = phase_columns(trajectory)
    counts = (columns.get(f"stages.{view}") for view in STAGE_VIEWS)
    return final, next((int(count) for count in counts if count is not None), None)


def _sorted(runs: Sequence[ListedRun], name: str, *, backwards: bool) -> list[ListedRun]:
    """Within each experiment, so that its table stays whole."""
    known = {key for run in runs for key in run.config}
    if runs and name not in OWN_COLUMNS and name not in known:
        near = nearest_key(name, [*OWN_COLUMNS, *known])
        columns = ", ".join(OWN_COLUMNS)
        raise ConfigError(f"--sort {name}: no such column{near or f'; one of {columns}, or a config key'}")
    ordered = sorted(runs, key=lambda run: (run.config_hash, run.seed))
    if name != "experiment":
        ordered.sort(key=lambda run: _rank(_value(run, name)), reverse=backwards)
        # A run that has no such value comes last in either direction.
        ordered.sort(key=lambda run: _value(run, name) is None)
    return sorted(ordered, key=lambda run: run.experiment, reverse=backwards and name == "experiment")


def _value(run: ListedRun, name: str) -> Any:
    if name == "age":
        return -run.written
    if name == "size":
        return run.size_bytes
    return getattr(run, name) if name in OWN_COLUMNS else run.config.get(name)


def _rank(value: Any) -> tuple[int, float, str]:
    return (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, str(value))


def _table(runs: Sequence[ListedRun], names: Mapping[Path, str]) -> str:
    differing = _differing_keys(runs)
    loss = "excess loss" if all("excess_loss" in run.final for run in runs if run.final) else "loss"
    named = ("label",) if any(run.label for run in runs) else ()
    columns = ("run", *named, *differing, "status", "steps", loss, "stages", "age", "size")
    rows = [
        (
            names[run.path],
            *((run.label or UNSET,) if named else ()),
            *(_text(run.config.get(key)) for key in differing),
            run.status,
            str(run.steps),
            UNSET if run.loss is None else f"{run.loss:.3g}",
            UNSET if run.stages is None else str(run.stages),
            _age(time.time() - run.written),
            _size(run.size_bytes),
        )
        for run in runs
    ]
    return text_table(columns, rows, align="l" + "l" * len((*named, *differing)) + "lrrrrr")


def _differing_keys(runs: Sequence[ListedRun]) -> list[str]:
    """Config keys whose values are not the same in all runs; the seed is in the name of each."""
    readable = [run for run in runs if run.config]
    keys = dict.fromkeys(key for run in readable for key in run.config)
    told = ("seed", "experiment", "label")
    return [key for key in keys if key not in told and len({repr(run.config.get(key)) for run in readable}) > 1]


def _short_names(runs: Sequence[ListedRun], root: Path) -> dict[Path, str]:
    """The shortest pattern below the root that matches this run alone, so that it can be copied into a command."""
    names = {}
    for run in runs:
        rivals = [other.path.name for other in runs if other.experiment == run.experiment and other.path != run.path]
        stem, dash, seed = run.path.name.rpartition("-s")
        digits = next(
            (n for n in range(4, len(stem)) if not any(_matches(stem[:n], dash + seed, name) for name in rivals)),
            len(stem),
        )
        star = "*" if digits < len(stem) else ""
        names[run.path] = f"{run.path.parent.name}/{stem[:digits]}{star}{dash}{seed}"
    return names


def _matches(start: str, end: str, name: str) -> bool:
    return name.startswith(start) and name.endswith(end)


def _text(value: Any) -> str:
    if value is None:
        return UNSET
    return f"{value:g}" if isinstance(value, float) else str(value)


def _size(size: int) -> str:
    return f"{size / 1e6:.1f}\u00a0MB" if size >= 1e6 else f"{size / 1e3:.0f}\u00a0kB"


def _age(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f}\u00a0{unit}"
    return f"{max(seconds, 0):.0f}\u00a0s"
