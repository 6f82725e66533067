"""Predictions of restricted-context models (paper §2.3): runs of their own that other runs are compared with.

A window of c tokens is trained and stored like every run; here its stored weights predict the tokens of another run.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from headwise.core.config import validated
from headwise.model.engine import Engine
from headwise.model.input_rows import as_sequences, input_rows
from headwise.model.paths import make_engine
from headwise.store import RunDirectory
from headwise.study.config import RunConfig
from headwise.study.run_decoder import new_decoder
from headwise.training.state import load_weights


def window_predictions(run: RunDirectory, sequences: np.ndarray) -> np.ndarray:
    """Log-probabilities, (sequences, T, d), of a stored restricted-context model."""
    config, engine = trained_engine(run)
    rows = input_rows(torch.from_numpy(sequences), config.model, predicted=config.task.T)
    parts: list[Tensor] = []
    engine.evaluate(
        rows.inputs.to(config.compute.device),
        counted=rows.counted,
        visit=lambda part, logits: parts.append(logits.double().log_softmax(-1).cpu()),
    )
    whole = as_sequences(torch.cat(parts), config.model, order=config.task.w, predicted=config.task.T)
    return whole.reshape(len(sequences), -1, config.task.d).numpy()


def trained_engine(run: RunDirectory) -> tuple[RunConfig, Engine]:
    """The model of a run that is over, with the weights it ended with."""
    config = validated(RunConfig, run.read_config())
    checkpoint = run.final_checkpoint()
    decoder = new_decoder(config)
    load_weights(checkpoint.arrays, decoder)
    return config, make_engine(decoder, config.compute, dropout_seed=0)
