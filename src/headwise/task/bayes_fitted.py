"""A Bayes predictor by fitting: where the visible contexts are too many to meet each of them, a network stands in.

The best predictor from some lags minimises the expected loss among all that see these lags alone, so whatever comes
nearest to that minimum on sequences it was not fitted on is the best stand-in. The network is one hidden layer beside
direct logits per lag and token, and is fitted on fresh sequences to the law of Eq. 1 itself (its probabilities, not
sampled tokens). Several starts differ in their random weights and in how large the direct logits are at first; the
best of them, or their mean where that is better, is taken. It has converged when another start comes to the loss of
the best one and the last quarter of the fit gained little; a claim that rests on one that has not is inconclusive.
Where the first two starts differ, as they do where norms are far apart and one begins with logits that are much too
large, a third one is fitted, and a fourth where that does not join the best one either.

This is no proof of optimality: the distance to the true minimum is measured where enumeration or sampling is possible
(`tests/task/test_task_bayes_fitted.py`), and elsewhere only bounded from one side by the held-out loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headwise.core.seeds import Stream, generator
from headwise.task.chain import Task, log_probabilities, sample
from headwise.task.contexts import visible_windows
from headwise.task.features import FloatArray

Arrays = dict[str, npt.NDArray[np.float32]]

STARTS = (0.25, 0.5)
"""Direct logits of each start, as a share of the task's own: averaging over what is hidden flattens predictions."""

FURTHER_STARTS = (0.125, 0.5)
"""Those of a third start and of a fourth, one at a time, as long as no other comes to the loss of the best."""

WIDTH = 512
STEPS = 1200
BATCH = 1000
RATE = 0.01
AT_A_TIME = 2000
"""Sequences drawn at a time; each of their contexts is used at most once."""
HELD_OUT = 1500

CONVERGED = 0.02
"""Nats within which the losses of the best two starts agree and which the last quarter of the fit may gain."""

LARGEST_NETWORK = 5_000_000
"""Weights of one start beyond which a fit would take minutes."""

VERSION = 3
"""Counts changes of the fit that change its result, so that what was kept of an older one is not taken for it."""

# Streams of the fit within Stream.BAYES, apart from those of the sampled tables.
_HELD_OUT, _FRESH, _START = 1_000_000, 1_000_001, 1_000_002


@dataclass(frozen=True)
class Fit:
    """How a fit went: held-out losses (nats) at its end and three quarters through, one each, and of what was taken."""

    losses: tuple[float, ...]
    before: tuple[float, ...]
    taken: float

    @property
    def converged(self) -> bool:
        """Whether two starts agree and little was gained at the end."""
        gained = min(self.before) - min(self.losses)
        best, second = sorted(self.losses)[:2]
        return second - best <= CONVERGED and gained <= CONVERGED


def network_size(task: Task, visible: tuple[int, ...]) -> int:
    """Weights of one start."""
    d = task.config.d
    return len(visible) * d * (d + WIDTH) + WIDTH * d


def fit_restricted(task: Task, visible: tuple[int, ...], *, seed: int = 0) -> Arrays:
    """Fit a predictor that sees only the lags `visible`; the arrays make it again with `evaluate_fitted`."""
    held_out = _contexts(task, visible, HELD_OUT, generator(seed, Stream.BAYES, _HELD_OUT))
    networks: list[_Network] = []
    before: list[float] = []
    losses: list[float] = []
    for shares in (STARTS, *((share,) for share in FURTHER_STARTS)):
        new = [
            _Network(task, visible, share, generator(seed, Stream.BAYES, _START, len(networks) + k))
            for k, share in enumerate(shares)
        ]
        for step, (seen, law) in enumerate(_batches(task, visible, seed)):
            if 4 * step == 3 * STEPS:
                before += [_loss([network], held_out) for network in new]
            for network in new:
                network.learn(seen, law, rate=RATE * (1 - step / STEPS))
        networks += new
        losses += [_loss([network], held_out) for network in new]
        if Fit(tuple(losses), tuple(before), min(losses)).converged:
            break
    together = _loss(networks, held_out)
    best = int(np.argmin(losses))
    taken = networks if together <= losses[best] else [networks[best]]
    arrays = {f"{name}_{k}": array for k, network in enumerate(taken) for name, array in network.weights.items()}
    record = {"losses": losses, "before": before, "taken": [min(together, losses[best])]}
    return arrays | {name: np.asarray(values, dtype=np.float32) for name, values in record.items()}


def fit_of(arrays: Mapping[str, npt.NDArray[np.floating]]) -> Fit:
    """How the fit behind these arrays went."""
    losses, before, taken = (tuple(float(v) for v in arrays[name]) for name in ("losses", "before", "taken"))
    return Fit(losses, before, taken[0])


def evaluate_fitted(
    task: Task,
    visible: tuple[int, ...],
    arrays: Mapping[str, npt.NDArray[np.floating]],
    sequences: npt.NDArray[np.integer],
) -> FloatArray:
    """Log-probabilities (N, T, d) of a fitted predictor."""
    starts = sorted({name.rpartition("_")[2] for name in arrays if name.startswith("input_")})
    networks = [{part: arrays[f"{part}_{k}"] for part in ("input", "bias", "output", "constant")} for k in starts]
    seen = visible_windows(task, sequences, visible)
    result = np.empty((*seen.shape[:2], task.config.d))
    rows = max(1, 20_000 // seen.shape[1])
    for start in range(0, len(seen), rows):
        part = seen[start : start + rows]
        one_hot = _one_hot(part.reshape(-1, len(visible)), task.config.d)
        p = np.mean([np.exp(_forward(weights, one_hot)[1].astype(np.float64)) for weights in networks], axis=0)
        p /= p.sum(-1, keepdims=True)
        result[start : start + rows] = np.log(np.maximum(p, np.finfo(np.float64).tiny)).reshape(*part.shape[:2], -1)
    return result


def _contexts(
    task: Task, visible: tuple[int, ...], count: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Visible contexts of sampled sequences, one-hot, and the law of the next token given everything."""
    sequences = sample(task, count, rng)
    seen = visible_windows(task, sequences, visible).reshape(-1, len(visible))
    law = np.exp(log_probabilities(task, sequences)).reshape(len(seen), -1).astype(np.float32)
    return _one_hot(seen, task.config.d), law


def _batches(
    task: Task, visible: tuple[int, ...], seed: int
) -> Iterator[tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]]:
    """`STEPS` batches of fresh contexts."""
    rng = generator(seed, Stream.BAYES, _FRESH)
    made = 0
    while made < STEPS:
        seen, law = _contexts(task, visible, max(AT_A_TIME, -(-BATCH // task.config.T)), rng)
        order = rng.permutation(len(seen))
        for start in range(0, len(seen) - BATCH + 1, BATCH):
            if made < STEPS:
                made += 1
                yield seen[order[start : start + BATCH]], law[order[start : start + BATCH]]


class _Network:
    """Direct logits and one hidden layer of rectified units, with Adam's moments."""

    def __init__(self, task: Task, visible: tuple[int, ...], share: float, rng: np.random.Generator) -> None:
        d, inputs = task.config.d, len(visible) * task.config.d
        direct = share * np.concatenate([task.lag_tables[lag - 1] for lag in visible])
        hidden = rng.standard_normal((inputs, WIDTH)) / np.sqrt(4 * len(visible))
        self.weights: Arrays = {
            "input": np.concatenate([direct, hidden], axis=1).astype(np.float32),
            "bias": np.zeros(WIDTH, np.float32),
            "output": np.zeros((WIDTH, d), np.float32),
            "constant": np.zeros(d, np.float32),
        }
        self._mean = {name: np.zeros_like(array) for name, array in self.weights.items()}
        self._square = {name: np.zeros_like(array) for name, array in self.weights.items()}
        self._steps = 0

    def learn(self, seen: npt.NDArray[np.float32], law: npt.NDArray[np.float32], *, rate: float) -> None:
        """One step of Adam on the cross-entropy with the law."""
        units, log_p = _forward(self.weights, seen)
        to_logits = (np.exp(log_p) - law) / np.float32(len(law))
        to_units = (to_logits @ self.weights["output"].T) * (units > 0)
        slopes = {
            "input": seen.T @ np.concatenate([to_logits, to_units], axis=1),
            "bias": to_units.sum(0),
            "output": units.T @ to_logits,
            "constant": to_logits.sum(0),
        }
        self._steps += 1
        for name, slope in slopes.items():
            mean, square = self._mean[name], self._square[name]
            mean += np.float32(0.1) * (slope - mean)
            square += np.float32(0.005) * (slope * slope - square)
            size = np.sqrt(square / np.float32(1 - 0.995**self._steps)) + np.float32(1e-8)
            self.weights[name] -= np.float32(rate / (1 - 0.9**self._steps)) * mean / size


def _forward(
    weights: Mapping[str, npt.NDArray[np.floating]], seen: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Hidden units and log-probabilities."""
    d = len(weights["constant"])
    read = seen @ weights["input"]
    units = np.maximum(read[:, d:] + weights["bias"], 0)
    logits = read[:, :d] + units @ weights["output"] + weights["constant"]
    logits -= logits.max(axis=1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return units, logits


def _loss(networks: list[_Network], held_out: tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]) -> float:
    """Cross-entropy of the mean prediction of some networks with the law, in nats."""
    total, (seen, law) = 0.0, held_out
    for start in range(0, len(seen), 5000):
        rows = slice(start, start + 5000)
        p = np.mean([np.exp(_forward(network.weights, seen[rows])[1]) for network in networks], axis=0)
        total -= float((law[rows] * np.log(np.maximum(p, 1e-30))).sum(dtype=np.float64))
    return total / len(seen)


def _one_hot(contexts: npt.NDArray[np.integer], d: int) -> npt.NDArray[np.float32]:
    """Each lag's token as d numbers, lags side by side."""
    rows = np.zeros((len(contexts), contexts.shape[1] * d), np.float32)
    np.put_along_axis(rows, contexts + d * np.arange(contexts.shape[1]), 1.0, axis=1)
    return rows
