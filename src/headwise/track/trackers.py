"""One small class for each tracker: numbers of a step go in, and it is closed at the end.

None of them sends anything anywhere unless its user has configured it so (WANDB_MODE, MLFLOW_TRACKING_URI, a run that
is active already): by default wandb is offline, MLflow and TensorBoard write files.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from headwise.core.extras import require_library

AT_ONCE = 1000
"""Numbers that MLflow takes in one call."""


class Backend(Protocol):
    """What a tracker can do."""

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        """Numbers of one step."""
        ...

    def close(self) -> None:
        """Everything is written."""
        ...


class TensorBoard:
    """An event file in a folder of its own below `folder`."""

    def __init__(self, *, folder: Path, project: str, name: str) -> None:
        self._events = require_library("tensorboard.compat.proto.event_pb2")
        self._summaries = require_library("tensorboard.compat.proto.summary_pb2")
        writer = require_library("tensorboard.summary.writer.event_file_writer")
        self._writer = writer.EventFileWriter(str(folder / project / name))

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        value = self._summaries.Summary.Value
        summary = self._summaries.Summary(value=[value(tag=name, simple_value=v) for name, v in numbers.items()])
        self._writer.add_event(self._events.Event(step=step, wall_time=time.time(), summary=summary))

    def close(self) -> None:
        self._writer.close()


class WeightsAndBiases:
    """The run that is active already, or an offline one below `folder`."""

    def __init__(self, *, folder: Path, project: str, name: str) -> None:
        wandb = require_library("wandb")
        self._theirs = wandb.run is not None
        if not self._theirs:
            folder.mkdir(parents=True, exist_ok=True)
        mode = os.environ.get("WANDB_MODE", "offline")
        self._run = wandb.run or wandb.init(project=project, name=name, dir=str(folder), mode=mode)

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        # A run of the user's own counts its own steps, and wandb refuses to go back.
        own = {} if self._theirs else {"step": step}
        self._run.log({**numbers, "headwise/step": step}, **own)

    def close(self) -> None:
        if not self._theirs:
            self._run.finish()


class MLflow:
    """The tracking server that is configured, or files below `folder`."""

    def __init__(self, *, folder: Path, project: str, name: str) -> None:
        require_library("mlflow")
        self._metric = require_library("mlflow.entities").Metric
        where = os.environ.get("MLFLOW_TRACKING_URI")
        if not where:
            where = (folder / "mlruns").resolve().as_uri()
            # Databases need the whole of MLflow; its skinny package has files, once they are asked for by name.
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        self._client = require_library("mlflow.tracking").MlflowClient(tracking_uri=where)
        known = self._client.get_experiment_by_name(project)
        experiment = self._client.create_experiment(project) if known is None else known.experiment_id
        self._id = self._client.create_run(experiment, tags={"mlflow.runName": name}).info.run_id

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        now = int(time.time() * 1000)
        named = [self._metric(re.sub(r"[^\w\-. /]", "_", name), v, now, step) for name, v in numbers.items()]
        for start in range(0, len(named), AT_ONCE):
            self._client.log_batch(self._id, metrics=named[start : start + AT_ONCE])

    def close(self) -> None:
        self._client.set_terminated(self._id)


class Trackio:
    """Trackio's own local store; below `folder` unless TRACKIO_DIR says where."""

    def __init__(self, *, folder: Path, project: str, name: str) -> None:
        os.environ.setdefault("TRACKIO_DIR", str((folder / "trackio").resolve()))
        trackio = require_library("trackio")
        self._run: Any = trackio.init(project=project, name=name, embed=False)
        self._finish = trackio.finish

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        self._run.log(dict(numbers), step=step)

    def close(self) -> None:
        self._finish()


BACKENDS: dict[str, Callable[..., Backend]] = {
    "trackio": Trackio,
    "wandb": WeightsAndBiases,
    "tensorboard": TensorBoard,
    "mlflow": MLflow,
}
