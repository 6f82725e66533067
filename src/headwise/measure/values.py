"""What each head writes for the tokens it copies, and how that aligns with the task's features.

Three readings of a head's value circuit M against the feature directions V_j* = A_j* / |A_j*|: the inner product
<M, V_j*>, the cosine, and the coefficients C = <M, V*> K^-1 with K the Gram matrix of the directions. Haar features
overlap by about 1/d, which is more than a compensation dip, so compensation is read from the coefficients.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from headwise.model.decoder import Decoder


class ValueAlignment(NamedTuple):
    """Each of shape (..., heads, groups)."""

    inner: np.ndarray
    cosine: np.ndarray
    coefficient: np.ndarray


def align(circuits: np.ndarray, features: np.ndarray) -> ValueAlignment:
    """Align circuits, (..., heads, d, d), with features, (groups, d, d)."""
    directions = features.reshape(features.shape[0], -1)
    directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    flat = circuits.reshape(*circuits.shape[:-2], -1)
    inner = flat @ directions.T
    size = np.linalg.norm(flat, axis=-1, keepdims=True)
    cosine = np.divide(inner, size, out=np.zeros_like(inner), where=size > 0)
    coefficient = np.linalg.solve(directions @ directions.T, inner[..., None])[..., 0]
    return ValueAlignment(inner, cosine, coefficient)


@torch.no_grad()
def value_circuits(decoder: Decoder) -> np.ndarray:
    """Token to logits through one head's values, (blocks, heads, d, d): unembedding . output . value . embedding.

    Layer norms and later blocks are left out: this is the direct path.
    """
    tokens_ND = decoder.token_table().double()
    circuits = []
    for block in decoder.layers:
        attention = block.attention
        written = attention.value_HED.double()
        if decoder.config.output == "on":
            written = torch.einsum("ohe,hed->hod", attention.output_OHE.double(), written)
        if decoder.config.unembedding == "learned":
            written = torch.einsum("no,hod->hnd", decoder.unembedding.weight.double(), written)
        else:
            written = written[:, : decoder.dictionary]
        circuits.append(torch.einsum("hnd,md->hnm", written, tokens_ND))
    return torch.stack(circuits).cpu().numpy()
