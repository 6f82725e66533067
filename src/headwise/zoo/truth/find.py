"""All true events of a stored run."""

from __future__ import annotations

from headwise.zoo.kinds import find_kind
from headwise.zoo.stored import Stored
from headwise.zoo.truth.boundary import find_boundaries
from headwise.zoo.truth.competition import find_competitions
from headwise.zoo.truth.event import Event
from headwise.zoo.truth.exchange import find_exchanges
from headwise.zoo.truth.induction import find_inductions
from headwise.zoo.truth.lag import find_lags
from headwise.zoo.truth.shares import measure_shares


def find_truth(stored: Stored) -> list[Event]:
    """Clear and borderline events of every kind."""
    model = find_kind(stored.kind).make(stored.setting, stored.seed).model
    shares = measure_shares(stored, model)
    exchanges = find_exchanges(shares)
    return [
        *find_lags(shares),
        *find_inductions(shares),
        *exchanges,
        *find_competitions(shares, exchanges),
        *find_boundaries(stored.looks, stored.validation_loss),
    ]
