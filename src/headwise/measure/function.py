"""Where a model stands in function space: its loss, its excess loss and its divergence from every given predictor."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional


class FunctionSpace:
    """Compares logits with fixed predictors, chunk by chunk, in double-precision sums.

    KL(f || model) is the sum of f log f, known beforehand, minus the dot product of f with the model's
    log-probabilities; the reverse divergence likewise. So one evaluation costs one log-softmax and two dot products
    per predictor.
    """

    def __init__(
        self, predictors: Mapping[str, np.ndarray], *, teacher: np.ndarray | None, targets: Tensor, like: Tensor
    ) -> None:
        """`predictors` and `teacher` are log-probabilities, (rows, counted, d); `targets` are (rows, counted).

        Of a task whose law is not known there may be no teacher, and no predictors.
        """
        self.names = list(predictors)
        stacked = np.stack([predictors[name] for name in self.names]) if predictors else np.zeros((0, 1, 1, 1))
        probabilities = np.exp(stacked)
        self._count = targets.numel()
        self._negentropy = np.where(probabilities > 0, probabilities * stacked, 0.0).sum((1, 2, 3)) / self._count
        # A predictor may exclude a token outright; the reverse divergence is then infinite, which a floor keeps finite.
        floor = np.log(np.finfo(np.float32).tiny)
        self._log = torch.as_tensor(np.maximum(stacked, floor)).to(like)
        self._probability = torch.as_tensor(probabilities).to(like)
        self._targets = targets
        self.teacher_loss: float | None = None
        if teacher is not None:
            best = np.take_along_axis(teacher, targets.cpu().numpy()[..., None], axis=-1)
            self.teacher_loss = -float(best.mean())
        self.reset()

    def reset(self) -> None:
        """Forget the chunks seen so far."""
        self._nll = 0.0
        self._cross = np.zeros(len(self.names))
        self._cross_reverse = np.zeros(len(self.names))
        self._model_negentropy = 0.0

    def visit(self, part: slice, logits: Tensor) -> None:
        """Take the logits of some rows."""
        flat = self._with_loss(part, logits).flatten()
        model = flat.exp()
        self._model_negentropy += float((model * flat).sum(dtype=torch.float64))
        for index in range(len(self.names)):
            self._cross[index] += float(torch.dot(self._probability[index, part].flatten(), flat))
            self._cross_reverse[index] += float(torch.dot(self._log[index, part].flatten(), model))

    def visit_for_loss(self, part: slice, logits: Tensor) -> None:
        """Take the logits of some rows for the loss alone, which costs less."""
        self._with_loss(part, logits)

    def _with_loss(self, part: slice, logits: Tensor) -> Tensor:
        """Add up the loss; the log-probabilities of these rows."""
        log_model = functional.log_softmax(logits, dim=-1)
        targets = self._targets[part]
        self._nll -= float(log_model.gather(-1, targets[..., None]).sum(dtype=torch.float64))
        return log_model

    def loss(self) -> float:
        """Mean cross-entropy on the targets."""
        return self._nll / self._count

    def excess_loss(self) -> float:
        """Loss above the true law's, on the same targets; not a number where that is not known."""
        return math.nan if self.teacher_loss is None else self.loss() - self.teacher_loss

    def kl(self) -> np.ndarray:
        """KL(predictor || model) of each predictor."""
        return np.asarray(self._negentropy - self._cross / self._count)

    def kl_reverse(self) -> np.ndarray:
        """KL(model || predictor) of each predictor."""
        return (self._model_negentropy - self._cross_reverse) / self._count
