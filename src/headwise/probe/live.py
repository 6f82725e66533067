"""`watch`: the heads of any model, live in its training loop.

    with headwise.watch(model, every=50, tokens=batch) as w:
        for inputs in loader:
            ...                      # the usual optimiser step
            w.step()
    print(w.report())

Between looks nothing of the probe is on the model: no hook, no changed setting. A look is one forward pass over
`tokens` (and a small one for the induction score), so the overhead is that of one pass in `every` steps.
"""

from __future__ import annotations

import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.trajectory import assemble
from headwise.probe.adapter import Adapter
from headwise.probe.probing import Induction, Layout, Probe

if TYPE_CHECKING:
    import xarray as xr
    from torch import Tensor

    from headwise.phases.run_report import RunReport


class Watch:
    """Records of one model over training; see `watch`."""

    def __init__(self, model: Any, probe: Probe, *, every: int) -> None:
        if every < 1:
            raise ConfigError(f"every = {every} must be at least 1")
        self.model, self.probe, self.every = model, probe, every
        self.steps_counted: int | None = None
        self._steps: list[int] = []
        self._records: list[dict[str, np.ndarray]] = []
        self._losses: list[float] = []

    def __enter__(self) -> Self:
        self.begin(0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.end()
        else:
            self.steps_counted = None

    def begin(self, step: int) -> None:
        """Take the first look, at this step; `with` does it at step 0."""
        if self._steps and step <= self._steps[-1]:
            raise ConfigError(
                f"this watch has records up to step {self._steps[-1]}; make another one for another training"
            )
        self.steps_counted = step
        self._look(None)
        for text in self.probe.left_out:
            warnings.warn(f"headwise: {text}", stacklevel=3)

    def end(self) -> None:
        """Take a last look if the last step was not on the schedule; `with` does it."""
        if self.steps_counted is not None and self.steps_counted != self._steps[-1]:
            self._look(None)
        self.steps_counted = None

    def step(self, loss: float | Tensor | None = None) -> None:
        """Call once per optimiser step, after it. A loss is kept where a look is taken, and not read otherwise."""
        if self.steps_counted is None:
            raise ConfigError("step() counts inside `with watch(...) as w:` only")
        self.steps_counted += 1
        if self.steps_counted % self.every == 0:
            self._look(loss)

    @property
    def seen(self) -> Layout:
        """Which layers, heads and lags are watched."""
        if self.probe.layout is None:
            raise ConfigError("nothing has been seen yet; enter the `with` first")
        return self.probe.layout

    @property
    def trajectory(self) -> xr.Dataset:
        """Everything recorded so far."""
        if not self._records:
            raise ConfigError("nothing has been recorded yet; enter the `with` first")
        variables = {name: np.stack([record[name] for record in self._records]) for name in self._records[0]}
        if np.isfinite(self._losses).any():
            variables["loss"] = np.asarray(self._losses)[:, None]
        coordinates = {**self.probe.coordinates(), "step": self._steps, "split": ["train"]}
        return assemble(variables, coordinates, self.probe.attributes())

    def report(self) -> RunReport:
        """The phase report so far, with patterns found in the attention itself."""
        from headwise.phases.detection import detect

        return detect(self.trajectory, groups="found")

    def callback(self) -> Any:
        """A `transformers.TrainerCallback` that begins, steps and ends this watch in a Hugging Face Trainer."""
        from headwise.probe.trainer_callback import trainer_callback

        return trainer_callback(self)

    def _look(self, loss: float | Tensor | None) -> None:
        assert self.steps_counted is not None
        self._records.append(self.probe.look(self.model))
        self._steps.append(self.steps_counted)
        self._losses.append(float("nan") if loss is None else float(getattr(loss, "detach", lambda: loss)()))


def watch(
    model: Any,
    *,
    tokens: Any,
    every: int = 50,
    queries: int | None = None,
    lags: int = 64,
    induction: Induction = "on",
    adapter: Adapter | None = None,
) -> Watch:
    """Watch a model's heads while it trains.

    `model`: a torch module, a Hugging Face or TransformerLens model, a headwise decoder, or a function from tokens to
    attention. `tokens`: the batch shown at every look, (sequences, positions), or a mapping of the model's keyword
    arguments (`attention_mask` marks padding); it is copied. `every`: optimiser steps between looks. `queries`: count
    the last so many positions only. `lags`: how far back attention is kept by lag. `induction`: whether each look also
    takes an induction score on repeated sequences. `adapter`: instead of the one that claims the model.

    >>> import torch
    >>> from headwise import watch
    >>> model = torch.nn.TransformerEncoderLayer(8, nhead=2, batch_first=True)
    >>> with watch(model, tokens=torch.randn(3, 6, 8), every=2) as w:
    ...     for _ in range(4):
    ...         w.step()  # after each step of your optimiser
    >>> w.trajectory["step"].values.tolist(), w.trajectory.sizes["head"]
    ([0, 2, 4], 2)
    """
    return Watch(model, Probe(tokens, queries=queries, lags=lags, induction=induction, adapter=adapter), every=every)
