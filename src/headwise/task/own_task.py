"""A task of somebody's own: any function that draws sequences and, where they are known, the laws that predict them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.look import cause
from headwise.task.config import TaskConfig

Sample = Callable[[int, np.random.Generator], Any]
"""How many sequences, and the generator to draw them with, to token ids (count, length)."""

Law = Callable[[np.ndarray], Any]
"""Sequences (count, length) to log-probabilities of each of their predicted tokens, (count, predicted, d)."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
TRUTH = "truth"
"""What the law that the sequences are drawn from is called among the predictors."""


@dataclass(frozen=True, kw_only=True)
class OwnTask:
    """Sequences of `length` tokens out of `d`, of which the last `predicted` are to be predicted.

    `sample` draws as many sequences as it is asked for with the generator it is given and with no other source of
    chance, so that a run is a function of its seed. `law` is what they are drawn from, as log-probabilities of each
    predicted token: with it there is an excess loss and the distance `truth`. `predictors` are further laws by name
    that the model is compared with. `groups` are lags that belong together, for attention by group; lag 1 is the token
    before the predicted one.

    >>> import numpy as np
    >>> from headwise import OwnTask
    >>> task = OwnTask(name="coins", sample=lambda count, rng: rng.integers(2, size=(count, 8)), d=2, length=8,
    ...                predicted=4, law=lambda tokens: np.full((len(tokens), 4, 2), np.log(0.5)))
    >>> task.draw(3, np.random.default_rng(0)).shape, list(task.laws(task.draw(3, np.random.default_rng(0))))
    ((3, 8), ['truth'])
    """

    name: str
    sample: Sample
    d: int
    length: int
    predicted: int
    law: Law | None = None
    predictors: Mapping[str, Law] = field(default_factory=dict)
    groups: Sequence[Sequence[int]] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise ConfigError(f"task name = {self.name!r:.80} must be letters, digits and . _ -, at most 40")
        for key, function in {"sample": self.sample, **self._laws()}.items():
            if not callable(function):
                raise ConfigError(f"task {key} is a {type(function).__name__}; give a function")
        if TRUTH in self.predictors:
            raise ConfigError(f"task predictors: {TRUTH!r} is what the law is called; give it as law=")
        for key in ("d", "length", "predicted"):
            if not isinstance(getattr(self, key), int):
                raise ConfigError(f"task {key} = {getattr(self, key)!r:.40} must be a whole number")
        if not 1 <= self.predicted < self.length:
            raise ConfigError(
                f"task predicted = {self.predicted} must be between 1 and length - 1 = {self.length - 1}: "
                "the first token has nothing before it"
            )
        self.config()

    @property
    def lags(self) -> tuple[tuple[int, ...], ...]:
        """The groups; none where none are known."""
        return tuple(tuple(group) for group in self.groups or ())

    @property
    def features(self) -> None:
        """There are no feature matrices."""
        return

    def config(self) -> TaskConfig:
        """What a run's config says about the task: sizes and groups. Its other keys mean nothing here."""
        groups = tuple(tuple(group) for group in self.groups) if self.groups is not None else "contiguous"
        return TaskConfig(
            d=self.d,
            w=self.length - self.predicted,
            T=self.predicted,
            h=len(self.groups) if self.groups is not None else 1,
            groups=groups,
            overlap="allow",
        )

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Sequences, (count, length), checked."""
        try:
            given = np.asarray(self.sample(count, rng))
        except Exception as error:  # what other people's code raises is open-ended
            raise ConfigError(f"task {self.name}: sample failed: {cause(error)}") from error
        if given.shape != (count, self.length) or given.dtype.kind not in "iu":
            raise ConfigError(
                f"task {self.name}: sample gave {given.dtype} of shape {given.shape}; "
                f"return token ids of shape {(count, self.length)}"
            )
        tokens = given.astype(np.int64)
        if tokens.size and (tokens.min() < 0 or tokens.max() >= self.d):
            raise ConfigError(
                f"task {self.name}: sample gave tokens {tokens.min()}..{tokens.max()}; "
                f"they must lie in 0..{self.d - 1} (d = {self.d})"
            )
        return np.ascontiguousarray(tokens)

    def laws(self, sequences: np.ndarray) -> dict[str, np.ndarray]:
        """Log-probabilities of every law on these sequences, (count, predicted, d), the truth last, checked."""
        return {name: self._table(name, law, sequences) for name, law in self._laws().items()}

    def _laws(self) -> dict[str, Law]:
        return {**self.predictors, **({} if self.law is None else {TRUTH: self.law})}

    def _table(self, name: str, law: Law, sequences: np.ndarray) -> np.ndarray:
        try:
            table = np.asarray(law(sequences), dtype=np.float64)
        except Exception as error:  # what other people's code raises is open-ended
            raise ConfigError(f"task {self.name}: {name} failed: {cause(error)}") from error
        wanted = (len(sequences), self.predicted, self.d)
        if table.shape != wanted:
            raise ConfigError(f"task {self.name}: {name} gave an array of shape {table.shape}; return {wanted}")
        with np.errstate(over="ignore", invalid="ignore"):
            totals = np.exp(table).sum(-1)
        if np.isnan(table).any() or not np.allclose(totals, 1.0, atol=1e-4):
            raise ConfigError(
                f"task {self.name}: {name} gave no log-probabilities: their exponentials add up to "
                f"{np.nanmin(totals):.4g}..{np.nanmax(totals):.4g} instead of 1"
            )
        return table
