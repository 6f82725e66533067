"""Examples kept whole: the maps are the model's own, a few looks of them, with what the tokens say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headwise
from headwise.core.errors import ConfigError, Interrupted
from headwise.core.trajectory import attribute
from headwise.probe import sequences
from headwise.probe.example_maps import RESOLUTION
from headwise.probe.kept_looks import MOST, KeptLooks
from headwise.probe.token_labels import token_labels

transformers = pytest.importorskip("transformers")
VOCABULARY, LENGTH = 20, 10


def gpt2(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    size = {"n_embd": 12, "n_layer": 2, "n_head": 3, "n_positions": 16, "vocab_size": VOCABULARY}
    config = transformers.GPT2Config(**size, bos_token_id=0, eos_token_id=0, initializer_range=0.6)
    return transformers.GPT2LMHeadModel(config).eval()


def raw(model: Any, shown: Any) -> np.ndarray:
    """The library's own maps, (sequence, block, head, query, key)."""
    model.set_attn_implementation("eager")
    with torch.no_grad():
        answer = model(**(shown if isinstance(shown, dict) else {"input_ids": shown}), output_attentions=True)
    return torch.stack(answer.attentions, dim=1).numpy()


def watched(model: Any, shown: Any, **options: Any) -> Any:
    with headwise.watch(model, tokens=shown, **options) as w:
        pass
    return w.trajectory


TOKENS = torch.randint(VOCABULARY, (5, LENGTH), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("largest", [sequences.LARGEST_MAPS, 2 * LENGTH**2])
def test_maps_are_the_models_own(monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    """Also of a batch that goes in several passes."""
    monkeypatch.setattr(sequences, "LARGEST_MAPS", largest)
    model = gpt2()
    found = watched(model, TOKENS, examples=[4, 1])
    kept = found["example_attention"].isel(snapshot=0).values
    assert np.abs(kept - raw(model, TOKENS)[[3, 0]]).max() <= 0.5 / RESOLUTION + 1e-6
    assert found["example_attention"].dims == ("snapshot", "example", "block", "head", "query", "key")
    about = attribute(found, "examples")
    assert [one["sequence"] for one in about] == [4, 1]
    assert about[0]["ids"] == TOKENS[3].tolist()
    assert "tokens" not in about[0]


def test_padding_is_no_part_of_an_example() -> None:
    mask = torch.ones_like(TOKENS)
    mask[0, :3] = 0
    mask[1, 6:] = 0
    shown = {"input_ids": TOKENS, "attention_mask": mask, "position_ids": (mask.cumsum(-1) - 1).clamp(min=0)}
    model = gpt2()
    found = watched(model, shown, examples=2)
    kept, whole = found["example_attention"].isel(snapshot=0).values, raw(model, shown)
    assert np.abs(kept[0, :, :, :7, :7] - whole[0, :, :, 3:, 3:]).max() <= 0.5 / RESOLUTION + 1e-6
    assert np.isnan(kept[0, :, :, 7:]).all()
    assert np.abs(kept[1, :, :, :6, :6] - whole[1, :, :, :6, :6]).max() <= 0.5 / RESOLUTION + 1e-6
    assert np.isnan(kept[1, :, :, :, 6:]).all()
    about = attribute(found, "examples")
    assert [(one["first_position"], len(one["ids"])) for one in about] == [(4, 7), (1, 6)]


def test_they_are_stored_and_come_back(tmp_path: Path) -> None:
    with headwise.watch(gpt2(), tokens=TOKENS, every=1, decode=[f"w{n}" for n in range(VOCABULARY)]) as w:
        for _ in range(3):
            w.step()
    loaded = headwise.load(w.save(tmp_path))
    assert loaded["snapshot"].values.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(loaded["example_attention"], w.trajectory["example_attention"])
    assert attribute(loaded, "examples")[1]["tokens"] == [f"w{n}" for n in TOKENS[1].tolist()]
    w.trajectory.to_netcdf(tmp_path / "w.nc")
    np.testing.assert_array_equal(headwise.load(tmp_path / "w.nc")["example_attention"], loaded["example_attention"])


def test_none_are_kept_where_none_are_wanted(tmp_path: Path) -> None:
    found = watched(gpt2(), TOKENS, examples=0)
    assert "example_attention" not in found
    assert attribute(found, "examples") is None
    headwise.page(found, tmp_path / "page.html")


def test_embeddings_have_positions_for_names() -> None:
    layer = torch.nn.TransformerEncoderLayer(8, nhead=2, batch_first=True)
    found = watched(layer, torch.randn(3, 6, 8))
    assert found["example_attention"].shape == (1, 2, 1, 2, 6, 6)
    assert "ids" not in attribute(found, "examples")[0]
    with pytest.raises(ConfigError, match="decode turns token ids into text, and these tokens are no ids"):
        headwise.watch(layer, tokens=torch.randn(3, 6, 8), decode=chr)


def test_a_folder_of_checkpoints_keeps_them_too(tmp_path: Path) -> None:
    """Resumed in the middle as in one go, with the words of the checkpoint's own tokenizer."""
    tokenizers = pytest.importorskip("tokenizers")
    words = {f"w{n}": n for n in range(VOCABULARY)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w0"))
    folder = tmp_path / "checkpoints"
    for step in (10, 20, 30):
        gpt2(step).save_pretrained(folder / f"checkpoint-{step}")
        tokenizer.save(str(folder / f"checkpoint-{step}" / "tokenizer.json"))
    options = {"sequences": 4, "length": LENGTH, "examples": 1}
    found = headwise.probe_folder(folder, **options, out=tmp_path / "whole")
    stopped = iter([False, True])
    with pytest.raises(Interrupted):
        headwise.probe_folder(folder, **options, out=tmp_path / "parts", stop_asked=lambda: next(stopped))
    again = headwise.probe_folder(folder, **options, out=tmp_path / "parts")
    assert found.trajectory["snapshot"].values.tolist() == [10, 20, 30]
    np.testing.assert_array_equal(found.trajectory["example_attention"], again.trajectory["example_attention"])
    about = attribute(found.trajectory, "examples")[0]
    assert about["tokens"] == [f"w{n}" for n in about["ids"]]
    maps = raw(gpt2(20), torch.tensor([about["ids"]]))[0]
    assert np.abs(found.trajectory["example_attention"].values[1, 0] - maps).max() <= 0.5 / RESOLUTION + 1e-6
    assert headwise.verify([again.run]) is not None


def test_a_broken_tokenizer_costs_only_its_words(tmp_path: Path) -> None:
    gpt2().save_pretrained(tmp_path / "m" / "checkpoint-1")
    (tmp_path / "m" / "checkpoint-1" / "tokenizer.json").write_text(json.dumps({"model": []}))
    found = headwise.probe_folder(tmp_path / "m", sequences=2, length=8, out=tmp_path / "runs")
    assert "tokens" not in attribute(found.trajectory, "examples")[0]


def looks(maps: list[np.ndarray]) -> list[int]:
    kept = KeptLooks()
    for step, one in enumerate(maps):
        kept.add(step, one)
        assert len(kept.maps) <= MOST
    return kept.steps


def test_looks_that_tell_most_are_kept() -> None:
    """A head that jumps from one token to another between looks 56 and 57 of 200."""
    before, after = np.eye(6)[None, None], np.eye(6)[::-1][None, None]
    kept = looks([before] * 57 + [after] * 143)
    assert {0, 56, 57, 199} <= set(kept)
    assert len(kept) == MOST


def test_looks_at_what_never_changes_are_spread() -> None:
    gaps = np.diff(looks([np.eye(6)[None, None]] * 200))[:-1]  # the last look is kept wherever it lies
    assert gaps.max() <= 2.5 * gaps.min(), gaps


class Tokenizer:
    def decode(self, ids: list[int]) -> str:
        return " ".join(f"t{n}" for n in ids)


@pytest.mark.parametrize(
    "decode",
    [
        Tokenizer(),
        lambda ids: "".join(f"t{n}" for n in ids),
        lambda token: {7: "t7", 8: "t8"}[token],
        [f"t{n}" for n in range(9)],
        {7: "t7", 8: b"t8"},
    ],
    ids=["tokenizer", "function of ids", "function of an id", "list", "mapping"],
)
def test_every_way_to_say_what_tokens_are(decode: Any) -> None:
    assert token_labels(decode, [8, 7]) == {7: "t7", 8: "t8"}


def test_the_librarys_own_tokenizer_is_one() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    whole = transformers.PreTrainedTokenizerFast(tokenizer_object=inner)
    assert token_labels(inner, [1]) == token_labels(whole, [1]) == {1: "b"}


MISTAKES = {
    "no form": ({"decode": 3}, "decode is a int; give a tokenizer, a function"),
    "too short": ({"decode": ["a"]}, r"decode: token \d+ has no text \(list index out of range\); give"),
    "no text": ({"decode": lambda ids: ids}, "decode gives a list for token 0, not text"),
    "a word": ({"examples": "two"}, "examples = 'two' is no number of sequences"),
    "below one": ({"examples": -1}, "examples = -1 is no number of sequences"),
    "too many": ({"examples": [6]}, "examples: 6 is no sequence of these 5"),
    "a yes": ({"examples": True}, "examples = True is no number"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_sentence(name: str) -> None:
    options, told = MISTAKES[name]
    with pytest.raises(ConfigError, match=told) as caught:
        headwise.watch(gpt2(), tokens=TOKENS, **options)
    assert "\n" not in str(caught.value)
