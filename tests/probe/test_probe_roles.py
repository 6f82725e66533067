"""Roles against loops over raw attention, one query and one key at a time, and heads whose role is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from headwise.core.errors import ConfigError
from headwise.probe import Layer, watch
from headwise.probe.block_sums import BlockSums
from headwise.probe.repeated import periods, repeated_batch
from headwise.probe.roles import all_roles
from headwise.probe.sequences import as_batch, passes

CLASSES = {"low": [0, 1]}


def random_attention(
    rows: int, heads: int, size: int, *, seed: int, ahead: bool = False, valid: Tensor | None = None
) -> Tensor:
    """Attention of random scores, in double precision; keys that are no real tokens get none."""
    scores = 2 * torch.randn(rows, heads, size, size, generator=torch.Generator().manual_seed(seed)).double()
    if not ahead:
        scores = scores.masked_fill(torch.ones(size, size, dtype=torch.bool).triu(1), -math.inf)
    if valid is not None:
        scores = scores.masked_fill(~valid[:, None, None], -1e9)
    return scores.softmax(-1)


def by_hand(
    a: np.ndarray, tokens: np.ndarray, valid: np.ndarray, *, queries: int, ahead: bool
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Share and chance of every role, (heads,) each, in plain loops."""
    rows, heads, size, _ = a.shape

    def seen(b: int, q: int) -> list[int]:
        return [k for k in range(size) if valid[b, k] and (ahead or k <= q)]

    counted = [(b, q) for b, q in product(range(rows), range(size - queries, size)) if valid[b, q]]
    alone = {q for q in range(size) if sum((b, q) in counted for b in range(rows)) < 2}
    first = [int(np.flatnonzero(v)[0]) for v in valid]

    def followers(b: int, q: int) -> list[int]:
        return [k + 1 for k in range(q) if valid[b, k] and valid[b, k + 1] and tokens[b, k] == tokens[b, q]]

    def copies(b: int, q: int) -> list[int]:
        return [k for k in range(q) if valid[b, k] and tokens[b, k] == tokens[b, q]]

    def low(b: int, q: int) -> list[int]:
        return [k for k in seen(b, q) if tokens[b, k] in CLASSES["low"]]

    share: dict[str, np.ndarray] = {}
    chance: dict[str, np.ndarray] = {}
    even: dict[str, Callable[[int, int], list[int] | None]] = {
        "self": lambda b, q: [q],
        "previous": lambda b, q: [q - 1] if q and valid[b, q - 1] else None,
        "first": lambda b, q: [first[b]] if q > first[b] else None,
        "window": lambda b, q: [k for k in seen(b, q) if abs(k - q) <= 3],
    }
    for name, keys in even.items():
        some = [(b, q, ks) for b, q in counted if (ks := keys(b, q)) is not None]
        share[name] = np.mean([a[b, :, q, ks].sum(0) for b, q, ks in some], axis=0)
        chance[name] = np.full(heads, np.mean([len(ks) / len(seen(b, q)) for b, q, ks in some]))
    for name, keys in {"induction": followers, "duplicate": copies, "class:low": low}.items():
        shares, chances = [], []
        for b, q in counted:
            if q in alone or not (ks := keys(b, q)):
                continue
            others = [a[c, :, q, ks].sum(0) for c in range(rows) if c != b and (c, q) in counted]
            shares.append(a[b, :, q, ks].sum(0))
            chances.append(np.mean(others, axis=0))
        share[name], chance[name] = np.mean(shares, axis=0), np.mean(chances, axis=0)
    effective = [
        np.exp([-sum(x * math.log(x) for x in a[b, h, q] if x > 0) for h in range(heads)]) / len(seen(b, q))
        for b, q in counted
    ]
    share["diffuse"] = np.mean(effective, axis=0)
    chance["diffuse"] = np.full(heads, np.mean([1 / len(seen(b, q)) for b, q in counted]))
    return share, chance


CASES = {
    "causal": (False, None, 9),
    "last queries only": (False, None, 4),
    "encoder": (True, None, 9),
    "padding on the right": (False, [9, 7, 4, 9, 9, 8], 9),
    "padding on the left": (False, [9, -6, -3, 9, 9, -8], 9),
    "encoder with padding": (True, [9, 5, 8, 7, 9, 9], 9),
}


@pytest.mark.parametrize(("ahead", "lengths", "queries"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("vocabulary", [3, 5])
def test_roles_against_loops(ahead: bool, lengths: list[int] | None, queries: int, vocabulary: int) -> None:
    rows, size = 6, 9
    tokens = torch.randint(0, vocabulary, (rows, size), generator=torch.Generator().manual_seed(1))
    valid = torch.ones(rows, size, dtype=torch.bool)
    for row, length in enumerate(lengths or []):
        valid[row, length:] = False
        if length < 0:
            valid[row, length:], valid[row, :length] = True, False
    a = random_attention(rows, 3, size, seed=vocabulary, ahead=ahead, valid=valid)
    given = tokens if lengths is None else {"tokens": tokens, "attention_mask": valid.long()}
    with watch(lambda tokens, **_: a, tokens=given, queries=queries, classes=CLASSES, induction="off") as w:
        pass
    found = w.trajectory.isel(step=0, block=0)
    share, chance = by_hand(a.numpy(), tokens.numpy(), valid.numpy(), queries=queries, ahead=ahead)
    assert list(found["role"].values) == [
        "self", "previous", "first", "window", "induction", "duplicate", "diffuse", "class:low"
    ]  # fmt: skip
    for role in found["role"].values:
        score = (share[role] - chance[role]) / (1 - chance[role])
        assert found["role_chance"].sel(role=role).values == pytest.approx(chance[role], abs=1e-6), role
        assert found["role_score"].sel(role=role).values == pytest.approx(score, abs=1e-6), role


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("lengths", [(8, 8, 8), (8, 3, 5)])
def test_chance_of_a_lag_is_even_attention_counted_query_by_query(ahead: bool, lengths: tuple[int, ...]) -> None:
    size = 8
    valid = torch.tensor([[k < length for k in range(size)] for length in lengths])
    a = random_attention(3, 2, size, seed=0, ahead=ahead, valid=valid)
    tokens = {"tokens": torch.zeros(3, size, dtype=torch.long), "attention_mask": valid.long()}
    with watch(lambda tokens, **_: a, tokens=tokens) as w:
        pass
    found = w.trajectory["lag_chance"].isel(step=0)
    for lag in found["lag"].values:
        terms = []
        for length in lengths:
            for q in range(length):
                n = length if ahead else q + 1
                visible = 0 <= q + 1 - lag < (length if ahead else q + 1)
                terms.append(visible / n)
        assert float(found.sel(lag=lag)) == pytest.approx(np.mean(terms), abs=1e-7), lag
        if not ahead:
            formula = np.mean([(n >= lag) / n for length in lengths for n in range(1, length + 1)])
            assert float(found.sel(lag=lag)) == pytest.approx(formula, abs=1e-7)


def test_error_of_a_lag_is_the_standard_error_over_sequences() -> None:
    a = random_attention(7, 2, 6, seed=3)
    with watch(lambda tokens: a, tokens=torch.zeros(7, 6, dtype=torch.long), lags=4) as w:
        pass
    found = w.trajectory["lag_error"].isel(step=0, block=0)
    for lag in found["lag"].values:
        means = np.array([[a[b, h].diagonal(1 - lag).sum() / 6 for h in range(2)] for b in range(7)])
        assert found.sel(lag=lag).values == pytest.approx(means.std(0, ddof=1) / math.sqrt(7), abs=1e-7)


def test_folds_are_parts_of_the_batch() -> None:
    """Sequences go to the folds in turn; chance of a fold is still by all other sequences."""
    rows, size = 20, 8
    tokens = torch.randint(0, 4, (rows, size), generator=torch.Generator().manual_seed(0))
    a = random_attention(rows, 2, size, seed=5)
    with watch(lambda tokens: a, tokens=tokens) as w:
        pass
    found = w.trajectory.isel(step=0, block=0)
    assert found.sizes["fold"] == 16
    previous = a.diagonal(-1, dim1=-2, dim2=-1).sum(-1).numpy()
    chance = np.mean([1 / n for n in range(2, size + 1)])
    for fold in range(16):
        mean = previous[fold::16].mean(0) / (size - 1)
        expected = (mean - chance) / (1 - chance)
        assert found["role_fold"].sel(role="previous").values[fold] == pytest.approx(expected, abs=1e-6)
    share, by_others = by_hand(a.numpy(), tokens.numpy(), np.ones((rows, size), bool), queries=size, ahead=False)
    whole = (share["induction"] - by_others["induction"]) / (1 - by_others["induction"])
    folds = found["role_fold"].sel(role="induction").values
    assert folds.std() > 0
    assert np.abs(folds.mean(0) - whole).max() < 0.1


def test_a_batch_in_several_passes_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roles against even attention and lags, which do not depend on who else is in the pass."""
    rows, size = 7, 8
    tokens = torch.randint(0, 4, (rows, size), generator=torch.Generator().manual_seed(0))
    a = random_attention(rows, 2, size, seed=5)
    rows_of = {tuple(row.tolist()): index for index, row in enumerate(tokens)}

    def attention(tokens: Tensor) -> Tensor:
        return torch.stack([a[rows_of[tuple(row.tolist())]] for row in tokens])

    with watch(attention, tokens=tokens, induction="off") as whole:
        pass
    monkeypatch.setattr("headwise.probe.sequences.LARGEST_MAPS", 2 * size * size)
    assert [len(part.tokens) for part in passes(as_batch(tokens))] == [2, 2, 3]
    with watch(attention, tokens=tokens, induction="off") as parts:
        pass
    for name in ("attention_by_lag", "lag_chance", "lag_error", "attention_on"):
        assert np.allclose(whole.trajectory[name], parts.trajectory[name], atol=1e-7, equal_nan=True), name
    for role in ("self", "previous", "first", "window", "diffuse"):
        assert np.allclose(whole.trajectory["role_fold"].sel(role=role), parts.trajectory["role_fold"].sel(role=role))


def heads_of_known_roles(tokens: Tensor, *, lag: int) -> Tensor:
    """Heads on a fixed lag, on all followers of earlier copies, and on all earlier copies; else on the first token."""
    rows, size = tokens.shape
    a = torch.zeros(rows, 3, size, size)
    for b, q in product(range(rows), range(size)):
        a[b, 0, q, max(q + 1 - lag, 0)] = 1
        earlier = [k for k in range(q) if tokens[b, k] == tokens[b, q]]
        a[b, 1, q, [k + 1 for k in earlier] or [0]] = 1 / max(len(earlier), 1)
        a[b, 2, q, earlier or [0]] = 1 / max(len(earlier), 1)
    return a


def test_induction_and_duplicate_heads_in_a_vocabulary_of_three() -> None:
    tokens = torch.randint(0, 3, (16, 24), generator=torch.Generator().manual_seed(0))
    with watch(lambda tokens: heads_of_known_roles(tokens, lag=5), tokens=tokens) as w:
        pass
    found = w.trajectory.isel(step=0, block=0)
    assert found["role_score"].sel(role="induction").values[:2] == pytest.approx([0, 1], abs=1e-6)
    assert abs(float(found["role_score"].sel(role="induction")[2])) < 0.2
    assert found["role_score"].sel(role="duplicate").values[[0, 2]] == pytest.approx([0, 1], abs=1e-6)
    assert 0.2 < float(found["role_chance"].sel(role="induction")[1]) < 0.5
    assert found["attention_on"].sel(place="induction").values[:2] == pytest.approx([0, 1], abs=1e-6)


def test_a_head_on_a_fixed_lag_is_no_induction_head_on_repeats_of_that_period() -> None:
    """Every sequence has its followers at the same places: positions explain what the lag head sees, and all of it."""
    period, size = 8, 24
    once = torch.stack([torch.randperm(40, generator=torch.Generator().manual_seed(s))[:period] for s in range(12)])
    tokens = once.repeat(1, size // period)
    with watch(lambda tokens: heads_of_known_roles(tokens, lag=period), tokens=tokens) as w:
        pass
    with watch(lambda tokens: heads_of_known_roles(tokens, lag=period), tokens=tokens, induction="off") as alone:
        pass
    assert np.isnan(alone.trajectory["role_score"].sel(role=["induction", "duplicate"])).all(), "the batch cannot tell"
    found = w.trajectory.isel(step=0, block=0)
    score = found["role_score"].sel(role="induction").values
    assert score[:2] == pytest.approx([0, 1], abs=1e-6), "repeats of varied period can"
    assert np.array_equal(score, found["attention_on"].sel(place="induction"))
    assert np.isfinite(found["role_fold"].sel(role="induction")).all()


def test_a_head_that_the_repeats_contradict_is_no_induction_head() -> None:
    """Each token has one successor in the batch: a head that looks for it by content needs no earlier copy."""
    successor = torch.randperm(12, generator=torch.Generator().manual_seed(0))
    starts = torch.randint(0, 12, (10, 1), generator=torch.Generator().manual_seed(1))
    columns = [starts]
    for _ in range(29):
        random = torch.randint(0, 12, (10, 1), generator=torch.Generator().manual_seed(len(columns)))
        columns.append(torch.where(torch.arange(10)[:, None] % 5 == len(columns) % 5, random, successor[columns[-1]]))
    tokens = torch.cat(columns, 1)

    def attention(tokens: Tensor) -> Tensor:
        match = tokens[:, None, :] == successor[tokens][:, :, None]
        scores = torch.where(match, 5.0, 0.0).masked_fill(
            torch.ones(match.shape[1:], dtype=torch.bool).triu(1), -math.inf
        )
        return scores.softmax(-1)[:, None]

    with watch(attention, tokens=tokens, induction="off") as alone, watch(attention, tokens=tokens) as w:
        pass
    on_batch = float(alone.trajectory["role_score"].sel(role="induction").squeeze())
    assert on_batch > 0.4, "the batch alone is deceived"
    score = float(w.trajectory["role_score"].sel(role="induction").squeeze())
    assert score < 0.15
    assert float(w.trajectory["role_fold"].sel(role="induction").max()) < 0.3


def test_roles_of_tokens_need_tokens_and_others_to_compare_with() -> None:
    a = random_attention(3, 2, 6, seed=0)
    of_tokens = ["induction", "duplicate", "class:low"]
    for tokens, maps in (
        (torch.randn(3, 6), a),
        (torch.randn(3, 6, 4), a),
        (torch.randint(0, 3, (1, 6)), a[:1]),
    ):
        with watch(lambda tokens, maps=maps: maps, tokens=tokens, classes=CLASSES, induction="off") as w:
            pass
        score = w.trajectory["role_score"].isel(step=0, block=0)
        assert np.isnan(score.sel(role=of_tokens)).all()
        assert np.isfinite(score.drop_sel(role=of_tokens)).all()


def test_too_few_queries_tell_nothing() -> None:
    """Two sums of two in three tokens: where both are the same, a query's own token follows an earlier copy."""
    tokens = torch.tensor([[a, b, 9] for a in range(9) for b in range(9)])
    with watch(lambda tokens: torch.eye(3).expand(len(tokens), 2, 3, 3), tokens=tokens) as w:
        pass
    assert np.isnan(w.trajectory["role_score"].sel(role=["induction", "duplicate"])).all()
    assert np.isfinite(w.trajectory["role_score"].drop_sel(role=["induction", "duplicate"])).all()


def test_facts_that_limit_what_can_be_seen_are_kept() -> None:
    tokens = torch.tensor([[0, 1, 2, 0], [3, 4, 5, 6]])
    with watch(lambda tokens: random_attention(2, 1, 4, seed=0), tokens=tokens, induction="off") as w:
        pass
    from headwise.core.trajectory import attribute

    assert attribute(w.trajectory, "shown") == {"sequences": 2, "positions": 4, "different_tokens": 7}
    queries = attribute(w.trajectory, "role_queries")
    assert (queries["self"], queries["previous"], queries["induction"]) == (8, 6, 1)


def test_classes_are_checked() -> None:
    for wrong in ({"": [1]}, {"none": []}, {"word": ["a"]}):
        with pytest.raises(ConfigError, match="classes"):
            watch(lambda tokens: tokens, tokens=torch.zeros(2, 4), classes=wrong)


def test_repeats_have_varied_periods_and_the_batchs_own_tokens() -> None:
    batch = as_batch(torch.tensor([[5, 9, 11, 2, 7, 30, 31, 8, 9, 10, 40, 41]] * 4))
    drawn = repeated_batch(batch, count=3, length=12)
    assert drawn.tokens.shape == (3, 12)
    assert periods(3, 12).tolist() == [3, 4, 6]
    for row, period in zip(drawn.tokens, (3, 4, 6), strict=True):
        assert torch.equal(row[:-period], row[period:])
        assert len(set(row[:period].tolist())) == period
    assert set(drawn.tokens.unique().tolist()) <= set(batch.tokens.unique().tolist())
    assert repeated_batch(as_batch(torch.zeros(2, 8, dtype=torch.long)), count=2, length=8) is None
    assert repeated_batch(as_batch(torch.arange(10).reshape(2, 5)), count=2, length=5) is None
    assert repeated_batch(as_batch(torch.randn(2, 8)), count=2, length=8) is None


def test_long_batches_are_repeated_at_a_shorter_length_where_the_model_takes_it() -> None:
    lengths = []

    def attention(tokens: Tensor) -> Tensor:
        lengths.append(tokens.shape[1])
        return torch.eye(tokens.shape[1]).expand(len(tokens), 1, -1, -1)

    def of_one_length(tokens: Tensor) -> Tensor:
        if tokens.shape[1] != 100:
            raise RuntimeError("positions")
        return attention(tokens)

    tokens = torch.randint(0, 50, (4, 100))
    for model, expected in ((attention, [100, 64, 100, 64]), (of_one_length, [100, 100, 100, 100])):
        lengths.clear()
        with watch(model, tokens=tokens, every=1) as w:
            w.step()
        assert lengths == expected


def test_every_role_has_words_for_readers() -> None:
    for role in all_roles(CLASSES):
        assert role.title
        assert role.sentence.startswith("looks at")


def test_sums_of_a_layer_alone_need_no_roles() -> None:
    layer = Layer("one", random_attention(3, 2, 5, seed=0))
    sums = BlockSums(layer, queries=None)
    sums.add(layer)
    assert sums.roles.score().shape == (2, 0)
