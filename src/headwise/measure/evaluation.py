"""One evaluation of a model on the whole test set, as trajectory variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.trajectory import attention_by_group, check_record, head_overlap
from headwise.measure.ablations import ImportanceOf, not_measured
from headwise.measure.attention import by_lag
from headwise.measure.function import FunctionSpace
from headwise.measure.importance import decoder_importance
from headwise.measure.values import align, value_circuits
from headwise.model.decoder import Decoder
from headwise.model.engine import Engine, MeasuresHeads, in_force
from headwise.model.input_rows import InputRows


@dataclass(frozen=True)
class Evaluation:
    """A record of one step: every variable without its `step` dimension, and the attention map behind them."""

    variables: dict[str, np.ndarray]
    attention_map: np.ndarray


SPLITS = ("train", "test")


class MeasuredTask(Protocol):
    """What measurement needs to know of a task: groups of lags, none where none are known, and its features."""

    @property
    def lags(self) -> Sequence[Sequence[int]]: ...

    @property
    def features(self) -> np.ndarray | None: ...


class Evaluator:
    """Measures an engine against a task; built once per run, then called at every scheduled step."""

    def __init__(
        self,
        engine: Engine,
        *,
        task: MeasuredTask,
        test: InputRows,
        predictors: Mapping[str, np.ndarray],
        teacher: np.ndarray | None,
        importance_of: ImportanceOf | None = None,
    ) -> None:
        """`importance_of`: what records hold of head importance; `None`: nothing."""
        self.engine, self.task, self.test, self.importance_of = engine, task, test, importance_of
        if importance_of is not None and not isinstance(engine.decoder, Decoder):
            raise ConfigError(
                "measure.importance: head importance of a model of your own is measured by headwise.watch; leave it out"
            )
        parameter = next(engine.decoder.parameters())
        self.function = FunctionSpace(predictors, teacher=teacher, targets=test.targets, like=parameter)
        self.lags = list(range(1, test.inputs.shape[1] + 1))
        # A window shorter than a group sees only part of it: what it cannot see gets no attention.
        self.groups = [[lag for lag in group if lag <= self.lags[-1]] for group in task.lags]

    def measure(
        self, *, batch_loss: float, rate: float, importance: Literal["now", "not now"] = "not now"
    ) -> Evaluation:
        """Evaluate now. `batch_loss` and `rate` are recorded as the training loop gives them.

        Head importance, which costs more, is measured where it is asked for and NaN elsewhere.
        """
        self.function.reset()
        summary = self.engine.evaluate(self.test.inputs, counted=self.test.counted, visit=self.function.visit)
        attention_map = summary.map.cpu().numpy()
        shares = by_lag(attention_map)
        variables = {
            **self._in_function_space(),
            "loss": np.array([batch_loss, self.function.loss()]),
            "attention_by_lag": shares,
            **({"attention_by_group": attention_by_group(shares, self.lags, self.groups)} if self.groups else {}),
            "attention_entropy": summary.entropy.cpu().numpy(),
            **self._values(),
            "head_overlap": head_overlap(shares),
            "learning_rate": np.asarray(rate),
        }
        if isinstance(self.engine, MeasuresHeads):
            variables |= self.engine.head_variables(self.test.inputs, counted=self.test.counted)
        if self.importance_of is not None:
            decoder, of = self.engine.decoder, self.importance_of
            assert isinstance(decoder, Decoder)
            if importance == "now":
                with in_force(self.engine):
                    variables |= decoder_importance(decoder, self.test, of=of)
            else:
                variables |= not_measured([decoder.config.heads] * len(decoder.layers), of)
        check_record(variables)
        return Evaluation(variables, attention_map)

    def _in_function_space(self) -> dict[str, np.ndarray]:
        """Excess loss and divergences, as far as the task's laws are known."""
        function = self.function
        excess = {} if function.teacher_loss is None else {"excess_loss": np.asarray(function.excess_loss())}
        return excess | ({"kl": function.kl(), "kl_reverse": function.kl_reverse()} if function.names else {})

    def _values(self) -> dict[str, np.ndarray]:
        """What heads write against the task's features; of headwise's own decoder alone, whose circuits are known."""
        decoder, features = self.engine.decoder, self.task.features
        if features is None or not isinstance(decoder, Decoder):
            return {}
        values = align(value_circuits(decoder), features)
        return {
            "value_alignment": values.inner,
            "value_cosine": values.cosine,
            "value_coefficient": values.coefficient,
        }

    def validation_loss(self) -> float:
        """The test loss alone, for schedules; independent of when anything is measured."""
        self.function.reset()
        self.engine.evaluate(self.test.inputs, counted=self.test.counted, visit=self.function.visit_for_loss)
        return self.function.loss()

    def coordinates(self) -> dict[str, list[Any]]:
        """Labels of the dimensions that do not simply count."""
        keys = len(self.lags)
        return {
            "split": list(SPLITS),
            **({"predictor": self.function.names} if self.function.names else {}),
            "lag": self.lags,
            "query": list(range(keys - self.test.counted + 1, keys + 1)),
            "key": list(range(1, keys + 1)),
            **(self.engine.head_coordinates() if isinstance(self.engine, MeasuresHeads) else {}),
        }
