"""Predictors known by construction, for the kinds of training that have them; nothing is counted on a corpus here.

Shape letters: B sequences, S positions, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from headwise.zoo.lag_task import lag_features
from headwise.zoo.training import Setting, seeded


@dataclass(frozen=True)
class Law:
    """`predictors` gives each class of predictor at every position, (B, S, V); `classes` says to which class a
    predictor of a report belongs. A name that is not there is no class of this law: saying it is wrong.
    """

    predictors: Callable[[Tensor], dict[str, Tensor]]
    classes: Mapping[str, str]


NGRAMS = tuple(f"ngram_{n}" for n in range(6))
UNIFORM, LAST, OWN_TOKENS, OWN_PAIRS = "uniform", "the last token", "the sequence's tokens", "the sequence's pairs"


def find_law(kind: str, setting: Setting, seed: int) -> Law | None:
    """The law of a training; None where nobody knows it exactly, or no predictor of a report can follow it."""
    if kind == "markov_1":
        return _own_table(setting)
    if kind == "one_lag" and setting["groups"] == [[1]]:
        return _lag_one(setting, seed)
    if kind == "random_labels":
        return Law(lambda tokens: {UNIFORM: _uniform(tokens, setting["vocabulary"])}, dict.fromkeys(NGRAMS, UNIFORM))
    return None


def _uniform(tokens_BS: Tensor, vocabulary: int) -> Tensor:
    return torch.full((*tokens_BS.shape, vocabulary), 1 / vocabulary, dtype=torch.float64)


def _own_table(setting: Setting) -> Law:
    """Each sequence has a table of its own with Dirichlet rows: the best predictor adds the Dirichlet's parameter to
    the pairs seen so far. Over many sequences tables cancel out, so n-grams of a corpus know nothing.
    """
    vocabulary, peak = setting["vocabulary"], setting["peak"]

    def predictors(tokens_BS: Tensor) -> dict[str, Tensor]:
        one_BSV = functional.one_hot(tokens_BS, vocabulary).double()
        seen_BSV = one_BSV.cumsum(1)
        pairs_BSVV = torch.zeros(*one_BSV.shape, vocabulary, dtype=torch.float64)
        pairs_BSVV[:, 1:] = (one_BSV[:, :-1, :, None] * one_BSV[:, 1:, None, :]).cumsum(1)
        rows_BSV = (pairs_BSVV * one_BSV[..., None]).sum(2)
        return {
            UNIFORM: _uniform(tokens_BS, vocabulary),
            OWN_TOKENS: _normalised(seen_BSV + 1),
            OWN_PAIRS: _normalised(rows_BSV + peak),
        }

    return Law(predictors, {**dict.fromkeys(NGRAMS, UNIFORM), "context_1": OWN_TOKENS, "context_2": OWN_PAIRS})


def _lag_one(setting: Setting, seed: int) -> Law:
    """One table for all sequences: what follows a token depends on it alone, so 2-grams and longer ones are the law."""
    (feature,) = lag_features(
        vocabulary=setting["vocabulary"],
        groups=setting["groups"],
        strength=setting["strength"],
        ratio=setting["ratio"],
        generator=seeded(seed),
    )
    table_VV = feature.double().softmax(-1)

    def predictors(tokens_BS: Tensor) -> dict[str, Tensor]:
        return {UNIFORM: _uniform(tokens_BS, setting["vocabulary"]), LAST: table_VV[tokens_BS]}

    return Law(predictors, {**dict.fromkeys(NGRAMS[:2], UNIFORM), **dict.fromkeys(NGRAMS[2:], LAST)})


def _normalised(counts_BSV: Tensor) -> Tensor:
    return counts_BSV / counts_BSV.sum(-1, keepdim=True)
