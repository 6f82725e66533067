"""The learned position table may have more rows than are used: its first weights are those of torch's Xavier law."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from headwise import experiment
from headwise.core.errors import ConfigError
from headwise.model.config import FULL_PUBLISHED
from headwise.model.decoder import Decoder
from headwise.model.initialise import initialise

USED, ROWS = 31, 50


def first_weights(rows: int | None) -> dict[str, torch.Tensor]:
    decoder = Decoder(FULL_PUBLISHED.changed({"position_rows": rows}), dictionary=50, positions=USED)
    initialise(decoder, 1)
    return {name: weights.detach() for name, weights in decoder.named_parameters()}


@pytest.mark.parametrize("rows", [None, USED, ROWS])
def test_the_bound_is_that_of_the_whole_table(rows: int | None) -> None:
    torch.manual_seed(0)
    whole = nn.init.xavier_uniform_(torch.empty(rows or USED, FULL_PUBLISHED.width))
    found = first_weights(rows)["position_SP"]
    assert found.shape == (USED, FULL_PUBLISHED.width)
    assert float(found.abs().max()) == pytest.approx(float(whole.abs().max()), rel=1e-3)


def test_nothing_else_changes() -> None:
    default, longer = first_weights(None), first_weights(ROWS)
    assert {name for name in default if not torch.equal(default[name], longer[name])} == {"position_SP"}


@pytest.mark.parametrize(
    ("name", "rows", "says"),
    [
        ("full", 30, "model.position_rows = 30 is less than the 31 positions used; raise it"),
        ("minimal", 50, "model.position_rows needs model.positions = learned"),
    ],
)
def test_a_table_that_cannot_be_is_refused(name: str, rows: int, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        experiment(name, changes={"model.position_rows": rows})
