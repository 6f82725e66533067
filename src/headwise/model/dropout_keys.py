"""The dropout sites of a block: the rate at each, and the keys of the streams that it draws from."""

from __future__ import annotations

import numpy as np

from headwise.model.config import DropoutConfig
from headwise.model.dropout import Site, stream_keys, threshold


def site_rates(rates: DropoutConfig, *, block: int) -> dict[Site, float]:
    """The rate at every site of a block; only the first has embeddings before it."""
    found = {site: float(getattr(rates, site.name.lower())) for site in Site}
    return found if block == 0 else {**found, Site.EMBEDDING: 0.0}


def site_keys(rates: DropoutConfig, *, seed: int, step: int, block: int, sequences: int) -> dict[Site, np.ndarray]:
    """Keys of a block's dropout streams, one per sequence, of every site that drops anything."""
    every = np.arange(sequences)
    return {
        site: stream_keys(seed=seed, step=step, block=block, site=site, sequences=every)
        for site, rate in site_rates(rates, block=block).items()
        if threshold(rate)
    }
