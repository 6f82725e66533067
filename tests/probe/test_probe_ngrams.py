"""`corpus=` of `watch` and of a folder's probe: distances to n-gram predictors from the look's own logits."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import rel_entr
from torch import nn

from headwise import probe_folder, watch
from headwise.baselines.corpus import as_corpus
from headwise.baselines.predictors import NAMES, count_predictors
from headwise.cli.main import main
from headwise.core.errors import ConfigError
from headwise.model.config import ModelConfig
from headwise.model.decoder import Decoder
from headwise.probe import sequences

transformers = pytest.importorskip("transformers")

V, LENGTH = 10, 12


def gpt2(**changes: object) -> transformers.GPT2LMHeadModel:
    torch.manual_seed(1)
    small = {"n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": V, "n_positions": LENGTH}
    silent = {"bos_token_id": 0, "eos_token_id": 0, "initializer_range": 0.5}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**{**small, **silent, **changes}))


def drawn(rows: int, *, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(V, size=(rows, LENGTH))


def expected(corpus: np.ndarray, batch: np.ndarray, logits_BSV: torch.Tensor, mask: np.ndarray | None = None) -> tuple:
    """Both divergences, written out over the whole vocabulary."""
    valid = np.ones(batch.shape, dtype=bool) if mask is None else mask.astype(bool)
    found = count_predictors(as_corpus(corpus), batch, valid_BS=valid, counted_BS=valid, vocabulary=V)
    p_KPV = np.concatenate([p for _, p in found.written_out()], axis=1)
    q_PV = logits_BSV.detach().double().softmax(-1).numpy()[valid]
    return rel_entr(p_KPV, q_PV).sum(-1).mean(-1), rel_entr(q_PV, p_KPV).sum(-1).mean(-1)


@pytest.mark.parametrize("passes", [1, 3])
def test_distances_are_those_of_the_models_own_logits(passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, batch, model = drawn(60, seed=1), drawn(6, seed=2), gpt2().eval()
    mask = np.ones(batch.shape, dtype=int)
    mask[3, 7:] = 0
    monkeypatch.setattr(sequences, "LARGEST_MAPS", 6 // passes * LENGTH**2)
    shown = {"input_ids": torch.as_tensor(batch), "attention_mask": torch.as_tensor(mask)}
    with watch(model, tokens=shown, corpus=corpus) as w:
        pass
    toward, away = expected(corpus, batch, model(**shown).logits, mask)
    found = w.trajectory
    assert found["predictor"].values.tolist() == list(NAMES)
    assert np.allclose(found["kl"].values, toward, atol=1e-5)
    assert np.allclose(found["kl_reverse"].values, away, atol=1e-5)


class Bare(nn.Module):
    """A decoder that returns bare logits."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(V, 16)
        self.block = nn.TransformerEncoderLayer(16, 2, 16, dropout=0.0, batch_first=True)
        self.read = nn.Linear(16, V)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        ahead = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.read(self.block(self.embedding(tokens), src_mask=ahead, is_causal=True))


def test_any_module_that_returns_logits_is_compared() -> None:
    torch.manual_seed(0)
    corpus, batch, model = drawn(60, seed=3), drawn(4, seed=4), Bare()
    with watch(model, tokens=torch.as_tensor(batch), corpus=torch.as_tensor(corpus)) as w:
        pass
    toward, _ = expected(corpus, batch, model(torch.as_tensor(batch)))
    assert np.allclose(w.trajectory["kl"].values, toward, atol=1e-5)


def test_headwises_own_decoder_is_compared() -> None:
    corpus, batch = drawn(60, seed=9), drawn(4, seed=10)
    model = Decoder(ModelConfig(), dictionary=V, positions=LENGTH)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0)))
    with watch(model, tokens=torch.as_tensor(batch), corpus=corpus) as w:
        pass
    toward, away = expected(corpus, batch, model(torch.as_tensor(batch), LENGTH)[0])
    assert np.allclose(w.trajectory["kl"].values, toward, atol=1e-5)
    assert np.allclose(w.trajectory["kl_reverse"].values, away, atol=1e-5)


def test_a_model_that_looks_ahead_is_not_compared() -> None:
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.BertConfig(**small, vocab_size=V, max_position_embeddings=LENGTH, pad_token_id=None)
    model, batch = transformers.BertForMaskedLM(config), torch.as_tensor(drawn(3, seed=5))
    with pytest.warns(UserWarning, match="looks ahead"), watch(model, tokens=batch, corpus=drawn(9, seed=6)) as w:
        pass
    assert "kl" not in w.trajectory
    assert [item.reason for item in w.report().function.undecided] == [
        "it looks ahead, so it does not predict the next token"
    ]


def test_attention_alone_has_no_logits() -> None:
    def even(tokens: torch.Tensor) -> torch.Tensor:
        map_QK = torch.ones(LENGTH, LENGTH).tril().div(torch.arange(1.0, LENGTH + 1)[:, None])
        return map_QK.expand(len(tokens), 2, LENGTH, LENGTH)

    batch = torch.as_tensor(drawn(3, seed=5))
    with pytest.warns(UserWarning, match="no logits"), watch(even, tokens=batch, corpus=drawn(9, seed=6)) as w:
        pass
    assert [item.reason for item in w.report().function.undecided] == ["its output has no logits"]


def test_a_corpus_of_another_vocabulary_is_refused() -> None:
    batch = torch.as_tensor(drawn(3, seed=5))
    with pytest.raises(ConfigError, match=r"corpus: ids range over .*\.\.19, the model has 0\.\.9"):
        watch(gpt2(), tokens=batch, corpus=[3, 19, 4]).begin(0)
    with pytest.raises(ConfigError, match="corpus holds float64"):
        watch(gpt2(), tokens=batch, corpus=[0.5])


def trained(watched: bool) -> dict[str, torch.Tensor]:
    model = gpt2(resid_pdrop=0.2)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(seed: int) -> None:
        batch = torch.as_tensor(drawn(4, seed=seed))
        optimiser.zero_grad()
        model(input_ids=batch, labels=batch).loss.backward()
        optimiser.step()

    torch.manual_seed(2)
    if watched:
        with watch(model, tokens=torch.as_tensor(drawn(3, seed=5)), corpus=drawn(30, seed=6), every=2) as w:
            for seed in range(6):
                step(seed)
                w.step()
    else:
        for seed in range(6):
            step(seed)
    return model.state_dict()


def test_watching_with_a_corpus_changes_no_bit_of_training() -> None:
    plain, watched = trained(False), trained(True)
    assert all(torch.equal(plain[name], watched[name]) for name in plain)


def test_a_folder_is_compared_checkpoint_by_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus, batch = drawn(60, seed=7), drawn(3, seed=8)
    np.save(tmp_path / "corpus.npy", corpus.astype(np.uint16).ravel())
    np.save(tmp_path / "batch.npy", batch)
    models = {step: gpt2(initializer_range=scale).eval() for step, scale in ((1, 0.1), (2, 0.3), (3, 0.6))}
    for step, model in models.items():
        model.save_pretrained(tmp_path / "run" / f"checkpoint-{step}")
    shown = {"tokens": tmp_path / "batch.npy", "corpus": tmp_path / "corpus.npy", "out": tmp_path / "runs"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = probe_folder(tmp_path / "run", **shown)
    for step, model in models.items():
        toward, _ = expected(corpus.ravel(), batch, model(torch.as_tensor(batch)).logits)
        assert np.allclose(found.trajectory["kl"].sel(step=step), toward, atol=1e-5)
    words = ["probe", str(tmp_path / "run"), "--tokens", str(shown["tokens"]), "--out", str(shown["out"]), "-q"]
    capsys.readouterr()
    assert main([*words, "--corpus", str(shown["corpus"]), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"] == str(found.run)
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"] != str(found.run)
    assert main([*words, "--corpus", str(tmp_path / "none.npy")]) == 2
    assert "--corpus" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_gpt2_passes_n_0_1_2_3_on_a_chain_of_order_2(seed: int) -> None:
    """Tokens follow from the last two, the last one most: the true law is the 3-gram predictor."""
    rng = np.random.default_rng(seed)
    p = np.exp(1.5 * rng.standard_normal(V) + 1.2 * rng.standard_normal((V, V)) + 1.2 * rng.standard_normal((V, V, V)))
    p /= p.sum(-1, keepdims=True)

    def chain(rows: int) -> np.ndarray:
        ids = rng.integers(V, size=(rows, LENGTH))
        for t in range(2, LENGTH):
            below = p[ids[:, t - 2], ids[:, t - 1]].cumsum(-1)
            ids[:, t] = (rng.random(rows)[:, None] > below).sum(-1).clip(max=V - 1)
        return ids

    model = gpt2(n_embd=48, initializer_range=0.02, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, tokens=torch.as_tensor(chain(64)), corpus=chain(20_000), every=5, induction="off") as w:
        for _ in range(600):
            batch = torch.as_tensor(chain(64))
            optimiser.zero_grad()
            model(input_ids=batch, labels=batch).loss.backward()
            optimiser.step()
            w.step()
    view = w.report().function
    assert view.order == "holds", view.reason
    ngrams = [point.predictor for point in view.closest if point.predictor.startswith("ngram_")]
    assert ngrams == ["ngram_0", "ngram_1", "ngram_2", "ngram_3"]
    assert [stretch.predictor for stretch in view.nearest] == ngrams
    assert view.alike[0][:2] == ("ngram_3", "ngram_4")
