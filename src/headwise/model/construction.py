"""The exact solution of the task as a minimal model (paper §2.2), with its sharpness lambda.

Head k copies group k: the score of a key at lag i of I(k) is lambda + log(alpha_i), of any other 0, so attention
tends to alpha_i / sum(alpha) as lambda grows, and the value matrix carries (sum alpha) A_k. As printed the
construction is off by one: the query at position p predicts p + 1 and must look at p + 1 - i.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from headwise.model.config import ModelConfig
from headwise.model.decoder import Decoder


def construct(
    features: np.ndarray,
    lags: Sequence[Sequence[int]],
    weights: Sequence[Sequence[float]],
    *,
    positions: int,
    sharpness: float,
    config: ModelConfig | None = None,
) -> Decoder:
    """A float64 minimal decoder that computes Eq. 1 up to terms of order exp(-sharpness).

    `config` may only change the score scale; a model that divides its logits gets them multiplied beforehand.
    """
    groups, dictionary = features.shape[0], features.shape[1]
    config = (config or ModelConfig()).changed({"heads": groups})
    decoder = Decoder(config, dictionary=dictionary, positions=positions).double()
    attention = decoder.layers[0].attention
    with torch.no_grad():
        for k in range(groups):
            for lag, weight in zip(lags[k], weights[k], strict=True):
                if weight == 0:
                    continue
                query = torch.arange(max(lag - 1, 0), positions)
                key = query + 1 - lag
                score = (sharpness + math.log(weight)) / attention.inverse_scale
                attention.score_HDD[k, dictionary + key, dictionary + query] = score
            attention.value_HED[k, :, :dictionary] = torch.from_numpy(features[k] * sum(weights[k]))
    return decoder
