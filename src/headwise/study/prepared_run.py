"""Everything a run needs before its first step, made from its config: task, test data, model, batches, measurement.

Nothing here reads or writes the run's own directory; of the restricted-context models it compares with it reads the
stored weights.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from headwise.actions.held import Held, HeldEngine
from headwise.actions.subject import Subject
from headwise.core.errors import ConfigError
from headwise.core.seeds import Stream, generator, integer_seed
from headwise.measure.evaluation import Evaluator
from headwise.model.decoder import Decoder
from headwise.model.engine import Engine
from headwise.model.initialise import initialise
from headwise.model.input_rows import first_target, input_rows
from headwise.model.paths import make_engine
from headwise.store import Checkpoint, RunDirectory
from headwise.study.config import RunConfig
from headwise.study.own_code import NOTHING, OwnCode
from headwise.study.own_engine import OwnEngine, build_module
from headwise.study.run_decoder import new_decoder
from headwise.study.window_predictions import window_predictions
from headwise.task.bayes import BayesPredictor, Remember, bayes_predictor, compute_anew, prefix_lags
from headwise.task.chain import Task, build_task, sample
from headwise.task.own_task import TRUTH, OwnTask
from headwise.task.predictors import predictor, prefix_names
from headwise.training.batches import finite_batches, fresh_batches
from headwise.training.loop import Training
from headwise.training.state import pack, unpack


class PreparedRun:
    """A run at step 0: the initialised model with its optimiser, its batches, and what measures it."""

    def __init__(
        self,
        config: RunConfig,
        windows: dict[int, RunDirectory],
        *,
        remember: Remember = compute_anew,
        own: OwnCode = NOTHING,
    ) -> None:
        self._remember, self._bayes, self._own = remember, dict[str, BayesPredictor](), own
        self.task: Task | OwnTask = own.task or build_task(config.task, config.seed_of("task"))
        data_seed = config.seed_of("data")
        self.test = self._draw(config.measure.test_samples, generator(data_seed, Stream.TEST))
        self.engine = _new_engine(config, own)
        self.config = config.changed({"compute.path": self.engine.name})
        self.training = Training(self.engine, config.train, own_optimiser=own.optimizer)
        self.held: Held | None = None
        if config.branch is not None:
            self.held = Held(config.branch, self._subject(config.branch.step), path=self.engine.name)
            self.engine = self.training.engine = HeldEngine(self.engine, self.held)
            self.training.first = config.branch.step
        self.evaluator = self._evaluator(windows)
        if config.train.data == "fresh":
            self.batches = fresh_batches(self._draw, config.train, data_seed)
        else:
            sequences = self._draw(config.train.samples, generator(data_seed, Stream.DATA, 0))
            self.batches = finite_batches(torch.from_numpy(sequences), config.train, config.seed_of("batches"))

    def rows(self, step: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of one step."""
        rows = input_rows(self.batches(step), self.config.model, predicted=self.config.task.T)
        device = self.config.compute.device
        return rows.inputs.to(device), rows.targets.to(device)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take over a stored state: weights, optimiser, schedule and how far they have come."""
        training = self.training
        unpack(
            checkpoint.arrays,
            checkpoint.state,
            model=self.engine.decoder,
            optimiser=training.optimiser,
            schedule=training.schedule,
        )
        training.step = checkpoint.step
        training.batch_loss = float.fromhex(checkpoint.state["batch_loss"])

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint of this very run, with what its actions hold."""
        self.restore(checkpoint)
        if self.held is not None:
            self.held.resume(checkpoint.arrays, checkpoint.step)

    def state(self) -> Checkpoint:
        """Everything that a checkpoint keeps."""
        training = self.training
        arrays, state = pack(
            self.engine.decoder, training.optimiser, training.schedule, own=training.own_optimiser is not None
        )
        if self.held is not None:
            arrays |= self.held.constants()
        return Checkpoint(self.training.step, arrays, {**state, "batch_loss": self.training.batch_loss.hex()})

    def attributes(self) -> dict[str, object]:
        """Where the trajectory comes from, stored with it."""
        best = self.evaluator.function.teacher_loss
        named = {} if self.config.own is None else {key: code.name for key, code in self.config.own.flat().items()}
        return {
            "source": "training",
            "experiment": self.config.experiment,
            "preset": self.config.preset,
            "seed": self.config.seed,
            **({"groups": [list(group) for group in self.task.lags]} if self.task.lags else {}),
            **({} if isinstance(self.task, OwnTask) else {"alpha": [list(weights) for weights in self.task.alpha]}),
            **({} if best is None else {"teacher_loss": best}),
            **({} if self.config.branch is None else {"branch": self.config.branch.model_dump(mode="json")}),
            **({"bayes": {name: _about(found) for name, found in self._bayes.items()}} if self._bayes else {}),
            **({"own": named} if named else {}),
            **({"model": type(self.engine.decoder).__name__} if self._own.model is not None else {}),
        }

    def _subject(self, step: int) -> Subject:
        """What the actions of a branch act on."""
        config = self.config
        rows = input_rows(torch.from_numpy(self.test), config.model, predicted=config.task.T)

        def initial() -> Decoder:
            decoder = new_decoder(config)
            initialise(decoder, integer_seed(config.seed_of("init"), Stream.INIT))
            return decoder

        decoder = self.engine.decoder
        if not isinstance(decoder, Decoder) or isinstance(self.task, OwnTask):
            raise ConfigError("a branch acts on headwise's decoder and task; runs with your own cannot be branched")
        return Subject(
            decoder=decoder,
            optimiser=self.training.optimiser,
            task=self.task,
            test=rows.inputs.to(config.compute.device),
            counted=rows.counted,
            seed=config.seed,
            step=step,
            initial=initial,
        )

    def _evaluator(self, windows: dict[int, RunDirectory]) -> Evaluator:
        config = self.config
        rows = input_rows(torch.from_numpy(self.test), config.model, predicted=config.task.T)
        device = config.compute.device
        rows = rows._replace(inputs=rows.inputs.to(device), targets=rows.targets.to(device))
        tables, truth = self._tables(windows)
        start = first_target(config.model, order=config.task.w)
        shape = (*rows.targets.shape, config.task.d)
        laws = {name: table[:, start:].reshape(shape) for name, table in tables.items()}
        teacher = None if truth is None else laws[truth]
        return Evaluator(
            self.engine,
            task=self.task,
            test=rows,
            predictors=laws,
            teacher=teacher,
            importance_of=None if config.measure.importance is None else config.measure.importance_of,
        )

    def _draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return self.task.draw(count, rng) if isinstance(self.task, OwnTask) else sample(self.task, count, rng)

    def _tables(self, windows: dict[int, RunDirectory]) -> tuple[dict[str, np.ndarray], str | None]:
        """Every law that the model is compared with on the test sequences, and which of them is the true one."""
        task = self.task
        if isinstance(task, OwnTask):
            found = task.laws(self.test)
            return found, TRUTH if TRUTH in found else None
        tables = {name: predictor(task, name)(self.test) for name in prefix_names(task)}
        for i in self.config.measure.bayes:
            # The same for all runs of a task, whatever their seed: it is a property of the task.
            best = bayes_predictor(task, prefix_lags(task, i), remember=self._remember)
            self._bayes[f"bayes_{i}"] = best
            tables[f"bayes_{i}"] = best(self.test)
        tables |= {f"window_{c}": window_predictions(run, self.test) for c, run in windows.items()}
        return tables, prefix_names(task)[-1]


def _new_engine(config: RunConfig, own: OwnCode) -> Engine:
    """The initialised model, headwise's own decoder or a module of the caller's."""
    initial = integer_seed(config.seed_of("init"), Stream.INIT)
    dropout = integer_seed(config.seed_of("dropout"), Stream.DROPOUT)
    if own.model is not None:
        module = build_module(own.model, config.compute, seed=initial)
        chunk, vocabulary = config.compute.chunk, config.task.d
        return OwnEngine(module, vocabulary=vocabulary, dropout_seed=dropout, chunk=chunk, attention=own.attention)
    decoder = new_decoder(config)
    initialise(decoder, initial)
    return make_engine(decoder, config.compute, dropout_seed=dropout)


def _about(best: BayesPredictor) -> dict[str, object]:
    """How a Bayes predictor was made and whether it may be taken for the optimum."""
    about: dict[str, object] = {"method": best.method, "converged": best.converged}
    if best.fit is not None:
        about |= {"losses": list(best.fit.losses), "loss": best.fit.taken}
    return about
