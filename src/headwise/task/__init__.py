"""The task of paper §2.1: a Markov chain whose next-token logits add up over groups of lags.

Names are loaded when first used, so that reading a config costs no array library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwise.task.bayes import BayesPredictor, bayes_predictor, prefix_lags
    from headwise.task.chain import Task, build_task, entropy, log_probabilities, sample
    from headwise.task.config import TaskConfig
    from headwise.task.equivalents import Decomposition, decomposition_of, mixed, permuted, same_law
    from headwise.task.predictors import Predictor, predictor, prefix_names

__all__ = [
    "BayesPredictor",
    "Decomposition",
    "Predictor",
    "Task",
    "TaskConfig",
    "bayes_predictor",
    "build_task",
    "decomposition_of",
    "entropy",
    "log_probabilities",
    "mixed",
    "permuted",
    "predictor",
    "prefix_lags",
    "prefix_names",
    "same_law",
    "sample",
]

_HOME = {
    "BayesPredictor": "bayes",
    "bayes_predictor": "bayes",
    "prefix_lags": "bayes",
    "Task": "chain",
    "build_task": "chain",
    "entropy": "chain",
    "log_probabilities": "chain",
    "sample": "chain",
    "TaskConfig": "config",
    "Decomposition": "equivalents",
    "decomposition_of": "equivalents",
    "mixed": "equivalents",
    "permuted": "equivalents",
    "same_law": "equivalents",
    "Predictor": "predictors",
    "predictor": "predictors",
    "prefix_names": "predictors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
