"""How far a model is from n-gram predictors on the batch of a look, from the logits of the look's own pass.

The predictors are counted once, at the first look, when the size of the vocabulary is known; after that a look costs
a softmax and sums over the pairs of a position and a token that were counted (`headwise.baselines.divergences` has the
formulas). Shape letters: B sequences, S positions of a sequence, P compared positions, V vocabulary, N pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headwise.baselines.corpus import as_corpus
from headwise.baselines.divergences import between_predictors
from headwise.baselines.predictors import NAMES, count_predictors
from headwise.baselines.witten_bell import Smoothed
from headwise.core.errors import ConfigError
from headwise.probe.adapter import Batch

DIGITS = 6
"""Decimals to which the distances between predictors are kept."""


@dataclass(frozen=True)
class _Part:
    """A predictor that has a base: its own share of counted tokens, 16 bytes for each pair."""

    name: str
    base: str
    position_N: Tensor
    place_N: Tensor
    share_N: Tensor
    log_ratio_N: Tensor
    rest_P: Tensor

    def toward(self, log_PV: Tensor, of_base_P: Tensor) -> Tensor:
        """Mean of log q under this predictor, (P,), given that under its base."""
        own_N = log_PV.flatten().index_select(0, self.place_N) * self.share_N
        return (self.rest_P * of_base_P).index_add_(0, self.position_N, own_N)

    def away(self, q_PV: Tensor, of_base: float) -> float:
        """Mean under q of the log of this predictor, summed over positions, given that of its base."""
        own = q_PV.flatten().index_select(0, self.place_N) @ self.log_ratio_N
        return of_base + float(own) + float(self.rest_P.log().sum())


@dataclass(frozen=True)
class _Counted:
    """What is kept of the predictors, on the model's device."""

    position_P: np.ndarray
    unigram_V: Tensor
    parts: tuple[_Part, ...]
    negative_entropy_K: np.ndarray
    between_KK: np.ndarray


class PredictorDistances:
    """KL to and from every predictor, mean over the counted positions of a batch."""

    def __init__(self, corpus: Any, batch: Batch, *, queries: int | None) -> None:
        self._corpus = as_corpus(corpus)
        if batch.tokens.ndim != 2 or batch.tokens.is_floating_point():
            raise ConfigError("corpus: it needs tokens that are ids, (sequences, positions), to predict the next one")
        self._tokens_BS = batch.tokens.cpu().numpy().astype(np.int64)
        length, valid = self._tokens_BS.shape[1], batch.valid_BS
        self._valid_BS = np.ones(self._tokens_BS.shape, dtype=bool) if valid is None else valid.cpu().numpy()
        self._counted_BS = np.zeros(self._tokens_BS.shape, dtype=bool)
        self._counted_BS[:, max(0, length - (queries or length)) :] = True
        self._counted: _Counted | None = None
        self.notes: list[str] = []
        self.begin()

    def begin(self) -> None:
        """Another look."""
        self._rows = 0
        self._logits: list[Tensor] = []

    def add(self, logits_BSV: Tensor) -> None:
        """The logits of the next sequences of the batch; those at compared positions are kept until `record`."""
        rows, length, vocabulary = logits_BSV.shape
        if self._counted is None:
            self._counted = self._count(vocabulary, logits_BSV.device)
        position, first = self._counted.position_P, self._rows * length
        self._rows += rows
        low, high = np.searchsorted(position, [first, first + rows * length])
        place = torch.as_tensor(position[low:high] - first, device=logits_BSV.device)
        self._logits.append(logits_BSV.detach().flatten(0, 1)[place])

    def record(self) -> dict[str, np.ndarray]:
        """`kl` and `kl_reverse` of this look, in the order of `NAMES`; nothing where no logits came."""
        if self._counted is None or not self._logits:
            return {}
        log_PV = torch.cat(self._logits).float().log_softmax(-1)
        self._logits = []
        q_PV = log_PV.exp()
        positions, vocabulary = log_PV.shape
        unigram = self._counted.unigram_V
        toward = {"ngram_0": log_PV.mean(-1), "ngram_1": log_PV @ unigram}
        away = {"ngram_0": -positions * math.log(vocabulary), "ngram_1": float((q_PV @ unigram.log()).sum())}
        for part in self._counted.parts:
            toward[part.name] = part.toward(log_PV, toward[part.base])
            away[part.name] = part.away(q_PV, away[part.base])
        kl = self._counted.negative_entropy_K - np.array([float(toward[name].mean()) for name in NAMES])
        reverse = -(float(torch.special.entr(q_PV).sum()) + np.array([away[name] for name in NAMES])) / positions
        # A model that is a predictor is at distance zero, which rounding may put below it.
        return {"kl": np.maximum(kl, 0.0), "kl_reverse": np.maximum(reverse, 0.0)}

    def attributes(self) -> dict[str, object]:
        """The distances between the predictors themselves on this batch: what cannot be told apart here."""
        if self._counted is None:
            return {}
        return {"between_predictors": self._counted.between_KK.round(DIGITS).tolist()}

    def _count(self, vocabulary: int, device: torch.device) -> _Counted:
        found = count_predictors(
            self._corpus, self._tokens_BS, valid_BS=self._valid_BS, counted_BS=self._counted_BS, vocabulary=vocabulary
        )
        counted, given = self._corpus.ids.size, self._corpus.tokens_given
        if counted < given:
            self.notes.append(f"predictors: the first {counted} of the corpus's {given} tokens are counted")
        some, all_of_them = len(found.position_P), int((self._counted_BS & self._valid_BS).sum())
        if some < all_of_them:
            self.notes.append(f"predictors: compared at {some} of {all_of_them} positions, evenly spread")
        sums = between_predictors(found)
        return _Counted(
            found.position_P,
            torch.as_tensor(found.unigram_V, dtype=torch.float32, device=device),
            tuple(_part(part, sums.log_ratio[part.name], vocabulary, device) for part in found.parts),
            sums.negative_entropy_K,
            sums.between_KK,
        )


def _part(part: Smoothed, log_ratio_N: np.ndarray, vocabulary: int, device: torch.device) -> _Part:
    def tensor(values: np.ndarray, kind: torch.dtype) -> Tensor:
        return torch.as_tensor(values, dtype=kind, device=device)

    return _Part(
        part.name,
        part.base,
        tensor(part.position_N, torch.int32),
        tensor(part.position_N * vocabulary + part.token_N, torch.int32),
        tensor(part.share_N, torch.float32),
        tensor(log_ratio_N, torch.float32),
        tensor(part.rest_P, torch.float32),
    )
