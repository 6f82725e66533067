"""Which dropout streams a block draws from: the keys that the kernel is handed."""

from __future__ import annotations

import numpy as np

from headwise.model.config import DropoutConfig
from headwise.model.dropout import Site, stream_keys, threshold


def site_keys(rates: DropoutConfig, *, seed: int, step: int, block: int, sequences: int) -> dict[Site, np.ndarray]:
    """Keys of a block's dropout streams, one per sequence, of every site that drops anything."""
    by_site = {
        Site.EMBEDDING: rates.embedding if block == 0 else 0.0,
        Site.ATTENTION: rates.attention,
        Site.ATTENTION_BRANCH: rates.attention_branch,
        Site.MLP: rates.mlp,
        Site.MLP_BRANCH: rates.mlp_branch,
    }
    every = np.arange(sequences)
    return {
        site: stream_keys(seed=seed, step=step, block=block, site=site, sequences=every)
        for site, rate in by_site.items()
        if threshold(rate)
    }
