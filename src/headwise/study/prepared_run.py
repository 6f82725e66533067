"""Everything a run needs before its first step, made from its config: task, test data, model, batches, measurement.

Nothing here reads or writes the run's own directory; of the restricted-context models it compares with it reads the
stored weights.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headwise.actions.held import Held, HeldEngine
from headwise.actions.subject import Subject
from headwise.core.seeds import Stream, generator, integer_seed
from headwise.measure.evaluation import Evaluator
from headwise.model.decoder import Decoder
from headwise.model.engine import Engine
from headwise.model.initialise import initialise
from headwise.model.input_rows import first_target, input_rows
from headwise.model.paths import make_engine
from headwise.store import Checkpoint, RunDirectory
from headwise.study.config import RunConfig
from headwise.study.run_decoder import new_decoder
from headwise.study.window_predictions import window_predictions
from headwise.task.bayes import BayesPredictor, Remember, bayes_predictor, compute_anew, prefix_lags
from headwise.task.chain import build_task, sample
from headwise.task.predictors import predictor, prefix_names
from headwise.training.batches import finite_batches, fresh_batches
from headwise.training.loop import Training
from headwise.training.state import pack, unpack


class PreparedRun:
    """A run at step 0: the initialised model with its optimiser, its batches, and what measures it."""

    def __init__(
        self, config: RunConfig, windows: dict[int, RunDirectory], *, remember: Remember = compute_anew
    ) -> None:
        self._remember, self._bayes = remember, dict[str, BayesPredictor]()
        self.task = build_task(config.task, config.seed_of("task"))
        data_seed = config.seed_of("data")
        self.test = sample(self.task, config.measure.test_samples, generator(data_seed, Stream.TEST))
        decoder = new_decoder(config)
        initialise(decoder, integer_seed(config.seed_of("init"), Stream.INIT))
        self.engine: Engine = make_engine(
            decoder, config.compute, dropout_seed=integer_seed(config.seed_of("dropout"), Stream.DROPOUT)
        )
        self.config = config.changed({"compute.path": self.engine.name})
        self.training = Training(self.engine, config.train)
        self.held: Held | None = None
        if config.branch is not None:
            self.held = Held(config.branch.parsed(), self._subject(config.branch.step), path=self.engine.name)
            self.engine = self.training.engine = HeldEngine(self.engine, self.held)
            self.training.first = config.branch.step
        self.evaluator = self._evaluator(windows)
        if config.train.data == "fresh":
            self.batches = fresh_batches(lambda count, rng: sample(self.task, count, rng), config.train, data_seed)
        else:
            sequences = sample(self.task, config.train.samples, generator(data_seed, Stream.DATA, 0))
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
        arrays, state = pack(self.engine.decoder, self.training.optimiser, self.training.schedule)
        if self.held is not None:
            arrays |= self.held.constants()
        return Checkpoint(self.training.step, arrays, {**state, "batch_loss": self.training.batch_loss.hex()})

    def attributes(self) -> dict[str, object]:
        """Where the trajectory comes from, stored with it."""
        return {
            "source": "training",
            "experiment": self.config.experiment,
            "preset": self.config.preset,
            "seed": self.config.seed,
            "groups": [list(group) for group in self.task.lags],
            "alpha": [list(weights) for weights in self.task.alpha],
            "teacher_loss": self.evaluator.function.teacher_loss,
            **({} if self.config.branch is None else {"branch": self.config.branch.model_dump(mode="json")}),
            **({"bayes": {name: _about(found) for name, found in self._bayes.items()}} if self._bayes else {}),
        }

    def _subject(self, step: int) -> Subject:
        """What the actions of a branch act on."""
        config = self.config
        rows = input_rows(torch.from_numpy(self.test), config.model, predicted=config.task.T)

        def initial() -> Decoder:
            decoder = new_decoder(config)
            initialise(decoder, integer_seed(config.seed_of("init"), Stream.INIT))
            return decoder

        return Subject(
            decoder=self.engine.decoder,
            optimiser=self.training.optimiser,
            task=self.task,
            test=rows.inputs.to(config.compute.device),
            counted=rows.counted,
            seed=config.seed,
            step=step,
            initial=initial,
        )

    def _evaluator(self, windows: dict[int, RunDirectory]) -> Evaluator:
        config, task = self.config, self.task
        rows = input_rows(torch.from_numpy(self.test), config.model, predicted=config.task.T)
        device = config.compute.device
        rows = rows._replace(inputs=rows.inputs.to(device), targets=rows.targets.to(device))
        tables = {name: predictor(task, name)(self.test) for name in prefix_names(task)}
        for i in config.measure.bayes:
            # The same for all runs of a task, whatever their seed: it is a property of the task.
            best = bayes_predictor(task, prefix_lags(task, i), remember=self._remember)
            self._bayes[f"bayes_{i}"] = best
            tables[f"bayes_{i}"] = best(self.test)
        tables |= {f"window_{c}": window_predictions(run, self.test) for c, run in windows.items()}
        start = first_target(config.model, order=config.task.w)
        shape = (*rows.targets.shape, config.task.d)
        laws = {name: table[:, start:].reshape(shape) for name, table in tables.items()}
        return Evaluator(self.engine, task=task, test=rows, predictors=laws, teacher=laws[prefix_names(task)[-1]])


def _about(best: BayesPredictor) -> dict[str, object]:
    """How a Bayes predictor was made and whether it may be taken for the optimum."""
    about: dict[str, object] = {"method": best.method, "converged": best.converged}
    if best.fit is not None:
        about |= {"losses": list(best.fit.losses), "loss": best.fit.taken}
    return about
