"""What the first block reads is planned from sizes alone: tables in the paper's, others where tables would lose."""

from __future__ import annotations

import pytest

from headwise.model import kernel
from headwise.model.config import FULL_PUBLISHED, FULL_TEXT, MINIMAL_PUBLISHED, ModelConfig
from headwise.model.cost import SECONDS, cost, work
from headwise.model.decoder import Decoder
from headwise.model.folded import output_place
from headwise.model.plan import MOST_ELEMENTS, Plan, batch_sizes, plan, possible

pytestmark = pytest.mark.skipif(kernel.missing() is not None, reason=str(kernel.missing()))


DROPPED = FULL_PUBLISHED


@pytest.fixture(autouse=True, params=sorted(SECONDS))
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """As the plan is on a processor of each level."""
    monkeypatch.setattr(kernel, "level", lambda: request.param)
    return str(request.param)


def planned(
    model: ModelConfig, *, d: int = 50, w: int = 12, T: int = 20, batch: int = 3000, training: bool = True
) -> Plan:
    decoder = Decoder(model, dictionary=d, positions=w + T - 1)
    return plan(decoder, batch=batch, queries=T, chunk=50, training=training)


@pytest.mark.parametrize("batch", [48, 300, 3000])
@pytest.mark.parametrize("d", [10, 25, 50])
def test_the_papers_sizes_stay_on_tables(d: int, batch: int) -> None:
    assert planned(MINIMAL_PUBLISHED, w=6, d=d, batch=batch) == ("tables", "folded")
    assert planned(FULL_TEXT, d=d, batch=batch) == ("tables", "folded")
    assert planned(DROPPED, d=d, batch=batch).source == "dropped"
    assert planned(DROPPED, d=d, batch=batch, training=False) == ("tables", "folded")
    assert planned(DROPPED.changed({"blocks": 2}), d=d, batch=batch).source == "dropped"
    assert planned(MINIMAL_PUBLISHED.changed({"blocks": 2}), d=d, batch=batch).source == "tables"


def test_tables_keep_their_rule_for_the_output_matrix() -> None:
    for heads in (1, 3, 15):
        model = FULL_TEXT.changed({"heads": heads})
        place = output_place(Decoder(model, dictionary=50, positions=31), 20)
        assert planned(model) == ("tables", place)


def test_a_large_dictionary_and_a_small_batch_leave_tables() -> None:
    assert planned(FULL_TEXT, d=2000, batch=60).source in ("sums", "dense")
    assert planned(FULL_TEXT, d=5000, batch=8).source == "dense"
    assert planned(DROPPED, d=2000, batch=60).source == "dense"


def test_a_norm_before_attention_has_a_table_of_pairs_while_that_is_small() -> None:
    pre = FULL_TEXT.changed({"norm": "pre"})
    assert planned(pre).source == "pairs"
    assert planned(pre, batch=8).source == "dense"
    assert planned(pre, d=5000, batch=30_000).source == "dense"
    assert planned(DROPPED.changed({"norm": "pre"})).source == "dense"


def test_only_what_is_possible_is_planned() -> None:
    for model in (MINIMAL_PUBLISHED, FULL_TEXT, DROPPED, DROPPED.changed({"norm": "pre"})):
        for training in (True, False):
            for d in (10, 300, 3000):
                for batch in (1, 100, 10_000):
                    found = planned(model, d=d, batch=batch, training=training)
                    assert found.source in possible(model, training=training)
                    decoder = Decoder(model, dictionary=d, positions=31)
                    sizes = batch_sizes(decoder, batch=batch, queries=20, chunk=50, training=training)
                    if found.source in ("sums", "pairs"):
                        assert work(sizes, *found).elements <= MOST_ELEMENTS


def test_work_by_hand(level: str) -> None:
    decoder = Decoder(MINIMAL_PUBLISHED, dictionary=50, positions=25)
    sizes = batch_sizes(decoder, batch=100, queries=20, chunk=50, training=True)
    found = work(sizes, "tables", "folded")
    seen = 3 * sum(range(6, 26)) * 100
    assert found.mixing == 3 * seen * 56
    assert found.lookups == 2 * seen
    assert found.elements == 4 * 75 * 70 + 3 * 75 * 64
    assert found.drained == 2 * found.elements
    assert found.products == found.sparse == found.gathered == found.folding == 0
    assert cost(sizes, "tables", "folded", level=level) == pytest.approx(
        sum(a * b for a, b in zip(found, SECONDS[level], strict=True))
    )
