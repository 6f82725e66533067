"""The laws that the function view is scored against, one position at a time, and the sorting of its statements."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from headwise.zoo.additions import exchanges_of
from headwise.zoo.functions.changes import ToClass, compare, distances, said_changes, true_changes
from headwise.zoo.functions.laws import LAST, OWN_PAIRS, OWN_TOKENS, UNIFORM, find_law
from headwise.zoo.kinds import find_kind
from headwise.zoo.loop import run
from headwise.zoo.training import seeded
from headwise.zoo.truth.exchange import find_exchanges
from headwise.zoo.truth.shares import Shares


def test_the_sequences_own_tokens_and_pairs_by_plain_counting() -> None:
    setting = {"vocabulary": 3, "peak": 0.3}
    law = find_law("markov_1", setting, 0)
    assert law is not None
    tokens = torch.randint(3, (4, 9), generator=seeded(0))
    found = law.predictors(tokens)
    for row, sequence in enumerate(tokens.tolist()):
        for s in range(9):
            seen = sequence[: s + 1]
            alone = [(seen.count(v) + 1) / (s + 4) for v in range(3)]
            pairs = [sum(a == seen[-1] and b == v for a, b in pairwise(seen)) + 0.3 for v in range(3)]
            assert found[OWN_TOKENS][row, s].tolist() == pytest.approx(alone)
            assert found[OWN_PAIRS][row, s].tolist() == pytest.approx([p / sum(pairs) for p in pairs])
            assert found[UNIFORM][row, s].tolist() == pytest.approx([1 / 3] * 3)


def test_the_law_of_one_lag_is_that_of_the_drawn_tokens() -> None:
    kind = find_kind("one_lag")
    setting = {**kind.plan("development")[0][0], "groups": [[1]], "vocabulary": 4, "length": 400}
    law = find_law("one_lag", setting, 3)
    assert law is not None
    tokens, following = kind.make(setting, 3).draw(seeded(9), 200)
    table = law.predictors(torch.arange(4)[None])[LAST][0]
    for token in range(4):
        drawn = torch.bincount(following[tokens == token], minlength=4).double()
        assert (drawn / drawn.sum()).tolist() == pytest.approx(table[token].tolist(), abs=0.02)
    assert find_law("one_lag", {**setting, "groups": [[2]]}, 3) is None
    assert find_law("characters", {}, 0) is None


def test_distances_are_kl_from_the_law_to_the_model() -> None:
    kind = find_kind("markov_1")
    setting = kind.plan("development")[0][0]
    stored = run(kind, setting, 0, steps=2)
    law = find_law("markov_1", setting, 0)
    assert law is not None
    model = kind.make(setting, 0).model.eval()
    names, table = distances(stored, model, law)
    tokens = torch.as_tensor(stored.tokens)
    with torch.no_grad():
        log_q = torch.log_softmax(model(tokens).double(), -1)  # the weights of the last look are still in the model
    p = law.predictors(tokens)[OWN_PAIRS]
    expected = torch.nn.functional.kl_div(log_q, p, reduction="sum") / tokens.numel()
    assert table[-1, names.index(OWN_PAIRS)] == pytest.approx(float(expected))


def test_a_change_is_clear_where_both_sides_are_held() -> None:
    steps = np.arange(0, 120, 10)
    first = [0.0] * 5 + [0.3] * 7
    second = [0.3] * 4 + [0.01, 0.29] + [0.0] * 6
    clear, unsure = true_changes(steps, ["a", "b"], np.array([first, second]).T)
    assert clear == [ToClass("b", 30.0, 60.0)]
    assert {one.start for one in unsure} == {30.0, 40.0}
    assert true_changes(steps, ["a"], np.zeros((12, 1))) == ([], [])


def test_statements_are_true_false_or_not_scored() -> None:
    clear, unsure = [ToClass("b", 30, 50)], [ToClass("c", 40, 60)]
    right = compare([ToClass("b", 45, 70)], clear, unsure)
    assert right == {"hits": 1, "false": 0, "unscored": 0, "clear": 1, "missed": 0}
    wrong = compare([ToClass("b", 55, 70), ToClass("c", 60, 61), ToClass("d", 40, 50)], clear, unsure)
    assert wrong == {"hits": 0, "false": 2, "unscored": 1, "clear": 1, "missed": 1}


def test_a_report_is_read_by_classes() -> None:
    law = find_law("markov_1", {"vocabulary": 3, "peak": 0.3}, 0)
    assert law is not None
    names = ["ngram_0", "ngram_2", "context_2"]
    path = [{"predictor": name, "interval": [10 * k, 10 * k + 5]} for k, name in enumerate(names)]
    assert said_changes({"predictors": {"nearest": path}}, law) == [ToClass(OWN_PAIRS, 20.0, 25.0)]


def test_what_a_head_keeps_of_its_first_lag() -> None:
    """The same exchanges as the truth's, with what was lost."""
    steps = np.arange(20)
    kept, left, new = np.full(20, 0.5), np.linspace(0.5, 0.0, 20), np.clip((steps - 6) / 10, 0, 0.4)
    excess = np.zeros((20, 1, 2, 3))
    excess[:, 0, 0, 0], excess[:, 0, 1, 0] = kept, left
    excess[:, 0, :, 2] = new[:, None]
    shares = Shares(steps, np.array([1, 2, 3]), excess, np.full((20, 1, 2), np.nan))
    first, second = exchanges_of("a", shares)
    assert first.lost == pytest.approx(0)
    assert second.lost == pytest.approx(1)
    assert [(event.what, event.clear) for event in find_exchanges(shares)] == [("adding", True), ("leaving", True)]
