"""`watch`: the heads of any model, live in its training loop.

    with headwise.watch(model, every=50, tokens=batch) as w:
        for inputs in loader:
            ...                      # the usual optimiser step
            w.step()
    print(w.report())                # roles and events; print(w) is what each head does now
    w.page("heads.html")             # the interactive page; w.save("runs") keeps a run directory

Between looks nothing of the probe is on the model: no hook, no changed setting. A look is one forward pass over
`tokens` (and a small one over sequences that repeat themselves), so the overhead is that of one pass in `every` steps.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.look import Look, Metric, OnLook, call_on_look, checked_on_look
from headwise.core.named_options import named_options
from headwise.core.own_metrics import checked_metrics, measure_metrics, metric_coordinates
from headwise.core.trajectory import assemble
from headwise.measure.ablations import Cadence, ImportanceOf
from headwise.probe.adapter import Adapter
from headwise.probe.kept_looks import KeptLooks
from headwise.probe.look_loss import LossValue
from headwise.probe.losses import SPLITS, Validation, as_validation, loss_variables, validation_loss
from headwise.probe.probing import Induction, Layout, Probe
from headwise.probe.restored_state import state_restored
from headwise.probe.schedule import Every, as_written, make_schedule
from headwise.probe.training_loss import TrainingLosses
from headwise.store import now

if TYPE_CHECKING:
    import xarray as xr
    from torch import Tensor

    from headwise.phases.run_report import RunReport
    from headwise.view.report.notebook import NotebookPage
    from headwise.view.report.page import WrittenPage


Trainers = Literal["transformers", "lightning"]
"""Libraries in whose trainers a watch can run by itself."""


class Watch:
    """Records of one model over training; see `watch`."""

    def __init__(
        self,
        model: Any,
        probe: Probe,
        *,
        every: Every,
        validation: Validation | None = None,
        metrics: Mapping[str, Metric] | None = None,
        on_look: OnLook | None = None,
    ) -> None:
        self.model, self.probe, self.every, self.validation = model, probe, every, validation
        self.metrics, self.on_look = checked_metrics(metrics), checked_on_look(on_look)
        self.steps_counted: int | None = None
        self._schedule = make_schedule(every)
        self._steps: list[int] = []
        self._records: list[dict[str, np.ndarray]] = []
        self._importance_measured = False
        self._training = TrainingLosses()
        self._losses: dict[str, list[LossValue]] = {split: [] for split in SPLITS}
        self._examples = KeptLooks()
        self._started = self._ended = now()

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
        if not isinstance(step, int | np.integer) or step < 0:
            raise ConfigError(f"begin({step!r}): the first look is at a step of 0 or more")
        if self._steps and step <= self._steps[-1]:
            raise ConfigError(
                f"this watch has records up to step {self._steps[-1]}; make another one for another training"
            )
        self.steps_counted = step
        self._look()
        for text in self.probe.left_out:
            warnings.warn(f"headwise: {text}", stacklevel=3)

    def end(self) -> None:
        """Take a last look if the last step was not on the schedule; `with` does it."""
        if self.steps_counted is not None:
            if self.steps_counted != self._steps[-1]:
                self._look(importance="now")
            elif not self._importance_measured:
                self._records[-1] |= self.probe.head_importance(self.model)
        self.steps_counted = None

    def step(self, loss: float | Tensor | None = None) -> None:
        """Call once per optimiser step, after it. A loss is kept where it is and read at the next look."""
        if self.steps_counted is None:
            raise ConfigError("step() counts inside `with watch(...) as w:` only")
        self.steps_counted += 1
        if loss is not None:
            self._training.add(loss)
        if self._schedule.due(self.steps_counted):
            self._look()

    def mean_loss(self, mean: float, *, steps: int, last: int) -> None:
        """Instead of a loss at each step: a mean that was taken over the `steps` steps up to `last`."""
        self._training.add_mean(mean, steps=steps, time=last - steps / 2)

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
        splits = [split for split in SPLITS if any(np.isfinite(value.mean) for value in self._losses[split])]
        if splits:
            variables.update(loss_variables([self._losses[split] for split in splits], self._steps))
        if self._examples.maps:
            variables["example_attention"] = np.stack(self._examples.maps)
        times = {"step": self._steps, "snapshot": self._examples.steps}
        coordinates = {**self._coordinates(), **times, "split": splits}
        every = as_written(self.every)
        return assemble(variables, coordinates, {**self.probe.attributes(), "every": every})

    def report(self) -> RunReport:
        """The phase report so far, with patterns found in the attention itself."""
        from headwise.phases.detection import detect

        return detect(self.trajectory, groups="found")

    @named_options
    def save(self, out: Path | str = "runs", *, label: str | None = None, seed: int = 0) -> Path:
        """Keep what was recorded so far as a run directory below `out`, and return its path.

        It is a run like any other: `headwise.load`, `headwise show`, `report`, `phases` and `verify` take it. Saving
        the same records again finds it; more looks make another run. `label` is what pages call the model; `seed`
        tells trainings of one setting apart, which a page then shows together. No training resumes from it.
        """
        from headwise.probe.saved_watch import save_watch

        return save_watch(self, out, label=label, seed=seed, started=self._started, ended=self._ended)

    @named_options
    def page(self, output: Path | str = "report.html", *, title: str | None = None) -> WrittenPage:
        """Write the interactive page of what was recorded so far, one file that loads nothing."""
        import headwise

        return headwise.page(self, output, title=title)

    @named_options
    def show(self, *, title: str | None = None, height: int = 900) -> NotebookPage:
        """The whole interactive page inside a notebook, in a frame `height` pixels high; no server, nothing loaded."""
        import headwise

        return headwise.notebook_page(self, title=title, height=height)

    def __str__(self) -> str:
        if not self._records:
            return repr(self)
        from headwise.probe.watch_text import watch_text

        return watch_text(self.seen, self.trajectory)

    def __repr__(self) -> str:
        if not self._records:
            return f"<Watch of {type(self.model).__name__}: no look yet; enter `with watch(...) as w:`>"
        return f"<Watch of {self.seen}; {len(self._steps)} looks up to step {self._steps[-1]}>"

    def _repr_html_(self) -> str:
        """What a notebook shows of `w`: the timeline of the report."""
        from html import escape

        if not self._records:
            return f"<p>{escape(repr(self))}</p>"
        from headwise.probe.watch_text import looks_line

        about = f"{self.seen}; {looks_line(self.trajectory)}"
        return f"<p>{escape(about)}</p>{self.report()._repr_html_()}"

    @named_options
    def callback(self, library: Trainers = "transformers") -> Any:
        """What begins, steps and ends this watch in a trainer: of Hugging Face, or `callback("lightning")`."""
        if library == "lightning":
            from headwise.probe.lightning_callback import lightning_callback

            return lightning_callback(self)
        from headwise.probe.trainer_callback import trainer_callback

        return trainer_callback(self)

    def _coordinates(self) -> dict[str, Any]:
        return {**self.probe.coordinates(), **metric_coordinates(self.metrics)}

    def _look(self, *, importance: Literal["now", "not now"] = "not now") -> None:
        assert self.steps_counted is not None
        step = self.steps_counted
        wanted = self.probe.importance
        if wanted is not None and wanted.due(len(self._steps)):
            importance = "now"
        self._importance_measured = importance == "now"
        record = self.probe.look(self.model, importance=importance)
        begun = float(self._steps[-1]) if self._steps else float(step)
        look = self.probe.loss or LossValue()
        validation = validation_loss(self.probe, self.model, self.validation)
        train = self._training.take(start=begun, end=float(step))
        losses = dict(zip(SPLITS, (train, look, validation), strict=True))
        record |= self._own_metrics(record, losses)
        # Kept only now, and together: an error in somebody's own function leaves the looks before it whole.
        self._ended = now()
        if self.probe.example_maps is not None:
            self._examples.add(self.steps_counted, self.probe.example_maps)
        self._records.append(record)
        self._steps.append(step)
        for split, value in losses.items():
            self._losses[split].append(value)
        self._schedule.looked(step, record, look.mean if np.isfinite(look.mean) else train.mean)
        call_on_look(self.on_look, self._handed_out(record, losses))

    def _own_metrics(self, record: Mapping[str, np.ndarray], losses: Mapping[str, LossValue]) -> dict[str, np.ndarray]:
        if not self.metrics:
            return {}
        with state_restored(self.model):
            return measure_metrics(self.metrics, self._handed_out(record, losses))

    def _handed_out(self, record: Mapping[str, np.ndarray], losses: Mapping[str, LossValue]) -> Look:
        """This look as people's own functions get it, with its losses."""
        assert self.steps_counted is not None
        variables = {**record, "loss": np.array([value.mean for value in losses.values()])}
        coordinates = {**self._coordinates(), "split": list(losses)}
        return Look(self.steps_counted, variables, coordinates, self.model, self.probe.batch.tokens)


@named_options
def watch(
    model: Any,
    *,
    tokens: Any,
    every: Every = 50,
    validation: Any = None,
    corpus: Any = None,
    classes: Mapping[str, Sequence[int]] | None = None,
    queries: int | None = None,
    lags: int = 64,
    induction: Induction = "on",
    examples: int | Sequence[int] = 2,
    decode: Any = None,
    importance: Cadence | None = None,
    importance_of: ImportanceOf = "heads",
    attention: str | None = None,
    adapter: Adapter | None = None,
    metrics: Mapping[str, Metric] | None = None,
    on_look: OnLook | None = None,
) -> Watch:
    """Watch a model's heads while it trains.

    `model`: a torch module, a Hugging Face or TransformerLens model, a headwise decoder, or a function from tokens to
    attention. `tokens`: the batch shown at every look, (sequences, positions), or a mapping of the model's keyword
    arguments (`attention_mask` marks padding, `labels` are what a loss is taken from); it is copied. `every`: optimiser
    steps between looks, "auto" (denser at first and where something changes), or the steps to look at. `validation`:
    another batch whose loss is taken at every look, or a function of the model that gives one. `corpus`: token ids on
    which n-gram predictors are counted, for the model's distance to each at every look. `classes`: token ids by name,
    such as {"newline": [10]}, each a role of its own. `queries`: count the last so many positions only. `lags`: how far
    back attention is kept by lag. `induction`: whether each look also takes an induction score on sequences that repeat
    themselves. `examples`: of how many of the first sequences, or of which (counted from 1), the attention maps of a
    few looks are kept for the page. `decode`: a tokenizer, a function from ids to text or a list of texts by id, so
    that the page shows words instead of ids. `importance`: also measure how the loss on the batch rises without each
    head, at every so many looks and at the last one, or "last"; two passes for each head. `importance_of`: "pairs" adds
    one for any two heads of a block, for heads that stand in for each other. `attention`: for attention written by
    hand, the modules whose output is the weights, such as "layers.*.attn_dropout". `adapter`: instead of the one that
    claims the model. `metrics`: functions of one's own by name; each is called with the `Look`, in evaluation mode
    without gradients, and returns a number. `on_look`: called with the `Look` once everything is measured, such as a
    `Tracker`. A compiled model is looked at without its compiled code, and keeps it.

    >>> import torch
    >>> from headwise import watch
    >>> model = torch.nn.TransformerEncoderLayer(8, nhead=2, batch_first=True)
    >>> with watch(model, tokens=torch.randn(3, 6, 8), every=2) as w:
    ...     for _ in range(4):
    ...         w.step()  # after each step of your optimiser
    >>> w.trajectory["step"].values.tolist(), w.trajectory.sizes["head"]
    ([0, 2, 4], 2)
    """
    if attention is not None:
        if adapter is not None:
            raise ConfigError("attention and adapter exclude each other; give one")
        from headwise.probe.adapters.named_modules import NamedModules

        adapter = NamedModules(attention)
    probe = Probe(
        tokens,
        queries=queries,
        lags=lags,
        induction=induction,
        classes=classes,
        corpus=corpus,
        examples=examples,
        decode=decode,
        importance=importance,
        importance_of=importance_of,
        adapter=adapter,
        say=lambda text: warnings.warn(f"headwise: {text}", stacklevel=7),
    )
    return Watch(model, probe, every=every, validation=as_validation(validation), metrics=metrics, on_look=on_look)
