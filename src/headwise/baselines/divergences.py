"""What the distances of a model to the predictors need beside the model's own probabilities, computed once.

With p = share + rest * base at each position, both divergences are sums over the pairs that were counted:

    KL(p || q) = sum p log p - E_p[log q],    E_p[log q] = sum share log q + rest * E_base[log q],
    KL(q || p) = sum q log q - E_q[log p],    E_q[log p] = sum q log(p / (rest * base)) + log rest + E_q[log base],

so that no predictor is ever written out for the whole batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headwise.baselines.predictors import NAMES, Predictors


@dataclass(frozen=True)
class Divergences:
    """Constants of both divergences, and the divergences between the predictors themselves."""

    negative_entropy_K: np.ndarray
    """mean over positions of sum p log p"""
    log_ratio: dict[str, np.ndarray]
    """log(p / (rest * base)) at the counted pairs of each predictor that has a base of its own"""
    between_KK: np.ndarray
    """mean KL(predictor of the row || predictor of the column), in nats"""


def between_predictors(predictors: Predictors) -> Divergences:
    """Write the predictors out some positions at a time and keep the sums."""
    count = len(predictors.position_P)
    negative_entropy = np.zeros(len(NAMES))
    between = np.zeros((len(NAMES), len(NAMES)))
    log_ratio: dict[str, list[np.ndarray]] = {part.name: [] for part in predictors.parts}
    for rows, p_KPV in predictors.written_out():
        log_KPV = np.log(p_KPV)
        cross = p_KPV.reshape(len(NAMES), -1) @ log_KPV.reshape(len(NAMES), -1).T
        negative_entropy += np.diagonal(cross)
        between += np.diagonal(cross)[:, None] - cross
        for part in predictors.parts:
            first, last = np.searchsorted(part.position_N, [rows.start, rows.stop])
            position, token = part.position_N[first:last], part.token_N[first:last]
            own = log_KPV[NAMES.index(part.name), position - rows.start, token]
            base = log_KPV[NAMES.index(part.base), position - rows.start, token]
            log_ratio[part.name].append(own - base - np.log(part.rest_P[position]))
    return Divergences(
        negative_entropy / count,
        {name: np.concatenate(pieces) for name, pieces in log_ratio.items()},
        between / count,
    )
