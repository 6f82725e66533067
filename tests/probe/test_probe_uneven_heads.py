"""Layers with different numbers of heads: a pruned GPT-2, hand-written layers, and attention that is known exactly."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import headwise
from headwise.core.errors import ConfigError
from headwise.core.head_counts import head_counts
from headwise.view.sheets.heads_by_lag import heads_by_lag

VOCABULARY, LENGTH = 20, 12


def pruned_gpt2() -> nn.Module:
    """A GPT-2 of two layers with three heads, of which the second layer has lost its middle head."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    size = {"n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": LENGTH, "vocab_size": VOCABULARY}
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(**size, bos_token_id=0, eos_token_id=0, attn_implementation="eager")
    )
    attention = model.transformer.h[1].attn
    kept = torch.cat([torch.arange(0, 8), torch.arange(16, 24)])
    with torch.no_grad():
        columns = torch.cat([kept + 24 * part for part in range(3)])
        attention.c_attn.weight = nn.Parameter(attention.c_attn.weight[:, columns])
        attention.c_attn.bias = nn.Parameter(attention.c_attn.bias[columns])
        attention.c_attn.nf = 48
        attention.c_proj.weight = nn.Parameter(attention.c_proj.weight[kept])
    attention.num_heads, attention.split_size = 2, 16
    return model.eval()


def shares_by_lag(attention: Tensor) -> np.ndarray:
    """Mean share of each lag, (heads, lags), entry by entry."""
    rows, heads, length, _ = attention.shape
    shares = np.zeros((heads, length))
    for query in range(length):
        for key in range(query + 1):
            shares[:, query - key] += attention[:, :, query, key].double().sum(0).numpy()
    return shares / (rows * length)


@pytest.fixture(scope="module")
def watched() -> headwise.Watch:
    model = pruned_gpt2()
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.01)
    torch.manual_seed(1)
    shown = torch.randint(VOCABULARY, (6, LENGTH))
    with headwise.watch(model, tokens=shown, every=2, lags=LENGTH) as w:
        for _ in range(6):
            batch = torch.randint(VOCABULARY, (8, LENGTH))
            loss = model(input_ids=batch, labels=batch).loss
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            w.step(loss)
    w.shown = shown
    return w


def test_a_pruned_model_is_measured_as_its_own_attention(watched: headwise.Watch) -> None:
    with torch.no_grad():
        raw = watched.model(input_ids=watched.shown, output_attentions=True).attentions
    assert [layer.shape[1] for layer in raw] == [3, 2]
    found = watched.trajectory["attention_by_lag"].isel(step=-1).values
    for block, layer in enumerate(raw):
        expected = shares_by_lag(layer)
        np.testing.assert_allclose(found[block, : len(expected)], expected, atol=1e-6)


def test_what_a_block_lacks_is_nan_and_nothing_else_is(watched: headwise.Watch) -> None:
    trajectory = watched.trajectory
    assert head_counts(trajectory) == [3, 2]
    for name, variable in trajectory.data_vars.items():
        if "head" not in variable.dims:
            continue
        lacking = variable.isel(block=1, head=2).values
        assert np.isnan(lacking).all(), name
        if name not in ("role_score", "role_chance", "role_fold", "attention_on"):
            own = variable.isel(block=1, head=[0, 1])
            own = own.isel(head2=[0, 1]) if "head2" in own.dims else own
            assert np.isfinite(own.values).all(), name
            assert np.isfinite(variable.isel(block=0).values).all(), name


def test_it_is_told_kept_and_drawn(watched: headwise.Watch, tmp_path: Path) -> None:
    assert "2 layers of 3 and 2 heads" in repr(watched)
    told = str(watched)
    assert "L1H1" in told
    assert "L1H2" not in told
    run = watched.save(tmp_path)
    loaded = headwise.load(run)
    assert head_counts(loaded) == [3, 2]
    headwise.verify([run])
    assert {"attention_by_lag", "role_score"} <= set(loaded.data_vars)
    np.testing.assert_array_equal(loaded["attention_by_lag"], watched.trajectory["attention_by_lag"])
    page = watched.page(tmp_path / "page.html")
    assert "2 blocks of 3 and 2 heads" in Path(tmp_path / "page.html").read_text()
    assert page is not None
    sheet = heads_by_lag(watched.trajectory)
    assert [len(row) for row in sheet.rows] == [3, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        headwise.draw_run(loaded, tmp_path / "heads.png")


def test_a_model_that_is_pruned_while_it_is_watched_is_another_model(watched: headwise.Watch) -> None:
    whole = pruned_gpt2()
    whole.transformer.h[1] = pruned_gpt2().transformer.h[0]
    with pytest.raises(ConfigError, match="now has 2 layers of 3 heads; the first look saw"):
        watched.probe.look(whole)


class Layers(nn.Module):
    """Attention layers of torch with 4, 1 and 2 heads, or written by hand with a dropout after the softmax."""

    def __init__(self, *, by_hand: bool) -> None:
        super().__init__()
        self.heads, self.by_hand = (4, 1, 2), by_hand
        self.embed = nn.Embedding(VOCABULARY, 8)
        self.layers = nn.ModuleList(nn.MultiheadAttention(8, heads, batch_first=True) for heads in self.heads)
        self.weights = nn.ModuleList(nn.Dropout(0.1) for _ in self.heads)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        mask = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).triu(1)
        for heads, layer, dropout in zip(self.heads, self.layers, self.weights, strict=True):
            if self.by_hand:
                split = x.unflatten(-1, (heads, -1)).transpose(1, 2)
                scores = (split @ split.transpose(-1, -2)).masked_fill(mask, -torch.inf)
                x = x + (dropout(scores.softmax(-1)) @ split).transpose(1, 2).flatten(2)
            else:
                x = x + layer(x, x, x, attn_mask=mask)[0]
        return x


@pytest.mark.parametrize("by_hand", [False, True])
def test_layers_of_torch_and_layers_written_by_hand(by_hand: bool) -> None:
    torch.manual_seed(0)
    tokens = torch.randint(VOCABULARY, (4, LENGTH))
    named = {"attention": "weights.*"} if by_hand else {}
    with headwise.watch(Layers(by_hand=by_hand), tokens=tokens, **named) as w:
        pass
    assert head_counts(w.trajectory) == [4, 1, 2]
    shares = w.trajectory["attention_by_lag"].isel(step=0).values
    totals = shares.sum(-1)
    assert np.isnan(totals).sum() == 3 + 2
    np.testing.assert_allclose(totals[np.isfinite(totals)], 1.0, atol=1e-5)


RISING = {(1, 1): 3, (1, 3): 5, (2, 1): 4, (3, 2): 3}
"""Block and head that take up a lag, and which; all others look evenly at what they see."""
HEADS = (3, 1, 2)


class Rising:
    """Attention of known numbers: heads of `RISING` move to their lags around step 20, one a block after the other."""

    def __init__(self) -> None:
        self.step = 0

    def __call__(self, tokens: Tensor) -> list[Tensor]:
        rows, length = tokens.shape
        even = torch.ones(length, length).tril()
        even /= even.sum(-1, keepdim=True)
        layers = []
        for block, heads in enumerate(HEADS, start=1):
            maps = []
            for head in range(1, heads + 1):
                lag = RISING.get((block, head))
                part = 0.9 / (1 + np.exp(-(self.step - 10 * block) / 2)) if lag else 0.0
                target = even.clone()
                if lag:
                    target[lag - 1 :] = 0
                    target[range(lag - 1, length), range(length - lag + 1)] = 1
                maps.append((1 - part) * even + part * target)
            layers.append(torch.stack(maps).expand(rows, heads, length, length).clone())
        return layers


def test_the_report_names_the_heads_that_there_are(tmp_path: Path) -> None:
    model = Rising()
    torch.manual_seed(0)
    with headwise.watch(model, tokens=torch.randint(VOCABULARY, (8, 24)), every=1, induction="off") as w:
        for step in range(60):
            model.step = step + 1
            w.step()
    report = w.report()
    assert {(event.block, event.head): int(event.role.removeprefix("lag ")) for event in report.roles} == RISING
    # Half of the rise lies at steps 10, 20 and 30; a role begins where its score passes a threshold below half.
    for event in report.roles:
        assert 10 * event.block - 6 < event.start < 10 * event.block + 2
    assert report.index is not None
    assert np.isfinite(report.index).all()
    assert report.index.shape[1] == 2, "the block of one head has nobody to compete with"
    again = headwise.detect_seeds([w.trajectory, w.trajectory])
    assert again.roles == (((1, 2, 3), (1,), (1, 2)),) * 2
    headwise.page([w, w], tmp_path / "seeds.html")
