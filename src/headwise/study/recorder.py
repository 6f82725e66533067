"""Keeps what was measured until the next checkpoint, then hands it to the store as one segment."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headwise.core.look import Look, call_on_look
from headwise.core.own_metrics import measure_metrics, metric_coordinates
from headwise.measure.config import MeasureConfig
from headwise.measure.evaluation import Evaluator
from headwise.probe.restored_state import state_restored
from headwise.store import RunDirectory
from headwise.study.own_code import NOTHING, OwnCode
from headwise.training.loop import Training


class Recorder:
    """Measures on schedule, with the caller's own metrics. Its memory is one segment's records."""

    def __init__(self, evaluator: Evaluator, config: MeasureConfig, *, last: int, own: OwnCode = NOTHING) -> None:
        self.evaluator, self.config, self.last, self.own = evaluator, config, last, own
        self._importance_steps = config.importance_steps(last)
        self._steps: list[int] = []
        self._records: list[dict[str, np.ndarray]] = []
        self._snapshot_steps: list[int] = []
        self._maps: list[np.ndarray] = []

    def observe(self, training: Training) -> dict[str, np.ndarray] | None:
        """Measure at the first step and on either schedule; the record unless only a snapshot was due."""
        step = training.step
        due = self.config.at.due(step, self.last) or step == training.first
        snapshot_due = self.config.snapshots.due(step, self.last)
        if not due and not snapshot_due:
            return None
        evaluation = self.evaluator.measure(
            batch_loss=training.batch_loss,
            rate=training.rate,
            importance="now" if due and step in self._importance_steps else "not now",
        )
        if snapshot_due:
            self._snapshot_steps.append(step)
            self._maps.append(evaluation.attention_map.astype(np.float32))
        if not due:
            return None
        record = evaluation.variables
        if self.own.metrics:
            model = self.evaluator.engine.decoder
            with state_restored(model):
                record = {**record, **measure_metrics(self.own.metrics, self._look(step, record))}
        self._steps.append(step)
        self._records.append(record)
        call_on_look(self.own.on_look, self._look(step, record))
        return record

    def _look(self, step: int, record: Mapping[str, np.ndarray]) -> Look:
        coordinates = {**self.evaluator.coordinates(), **metric_coordinates(self.own.metrics)}
        return Look(step, record, coordinates, self.evaluator.engine.decoder, self.evaluator.test.inputs)

    def flush(self, run: RunDirectory, until: int) -> None:
        """Write what came since the last flush as segments that end at step `until`, and forget it."""
        if self._steps:
            names = self._records[0]
            variables = {name: np.stack([record[name] for record in self._records]) for name in names}
            run.write_metrics(until, steps=np.asarray(self._steps), variables=variables)
        if self._snapshot_steps:
            maps = {"attention_map": np.stack(self._maps)}
            run.write_snapshots(until, steps=np.asarray(self._snapshot_steps), variables=maps)
        self._steps, self._records, self._snapshot_steps, self._maps = [], [], [], []
