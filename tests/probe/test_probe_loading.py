"""Models read as data are the models that the library itself would load: families, tied weights, types and names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from test_probe_hugging_face import COMMON, DECODERS, ENCODERS

from headwise.core.errors import ConfigError, CorruptData
from headwise.probe.checkpoints import StoredModel, load_model, open_checkpoint

transformers = pytest.importorskip("transformers")

FURTHER = {
    "Qwen2": lambda: transformers.Qwen2Config(**COMMON, num_key_value_heads=2),
    "Phi": lambda: transformers.PhiConfig(**COMMON),
    "OPT": lambda: transformers.OPTConfig(**COMMON, ffn_dim=40, word_embed_proj_dim=32),
    "MPT": lambda: transformers.MptConfig(d_model=32, n_heads=4, n_layers=2, vocab_size=50, max_seq_len=32),
    "Falcon with ALiBi": lambda: transformers.FalconConfig(**COMMON, alibi=True),
    "GPT-J": lambda: transformers.GPTJConfig(n_embd=32, n_layer=2, n_head=4, vocab_size=50, rotary_dim=8),
    "GPT-Neo": lambda: transformers.GPTNeoConfig(
        vocab_size=50, hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]]
    ),
    "Mixtral, experts joined while loading": lambda: transformers.MixtralConfig(
        **COMMON, num_key_value_heads=2, num_local_experts=4
    ),
    "RoBERTa": lambda: transformers.RobertaConfig(**COMMON),
    "DistilBERT": lambda: transformers.DistilBertConfig(
        dim=32, n_layers=2, n_heads=4, hidden_dim=40, vocab_size=50, max_position_embeddings=32
    ),
    "ModernBERT": lambda: transformers.ModernBertConfig(**COMMON, pad_token_id=0, bos_token_id=1, eos_token_id=2),
}
FAMILIES = {**DECODERS, **ENCODERS, **FURTHER}


def ours(folder: Path) -> Any:
    return load_model(open_checkpoint(StoredModel(0, folder), pickle="refuse"), device="cpu")


def require_equal(folder: Path, kind: Any) -> None:
    found, expected = ours(folder), kind.from_pretrained(folder).eval()
    assert type(found) is type(expected)
    mine, theirs = found.state_dict(), expected.state_dict()
    assert mine.keys() == theirs.keys()
    for name, values in theirs.items():
        assert mine[name].dtype == values.dtype
        assert torch.equal(mine[name], values), name
    shown = torch.arange(3, 15)[None]
    with torch.no_grad():
        assert torch.equal(found(shown)[0], expected(shown)[0])


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_loaded_as_the_library_loads_it(family: str, tmp_path: Path) -> None:
    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(1)
    config = FAMILIES[family]()
    head = transformers.AutoModelForCausalLM if family in DECODERS else None
    for i, kind in enumerate(kind for kind in (transformers.AutoModel, head) if kind is not None):
        model = kind.from_config(config)
        model.save_pretrained(tmp_path / str(i), max_shard_size="20KB" if i else "1GB")
        require_equal(tmp_path / str(i), type(model))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("tied", [True, False])
def test_types_and_tied_weights(dtype: torch.dtype, tied: bool, tmp_path: Path) -> None:
    transformers.utils.logging.disable_progress_bar()
    config = transformers.LlamaConfig(**COMMON, tie_word_embeddings=tied)
    transformers.LlamaForCausalLM(config).to(dtype).save_pretrained(tmp_path)
    require_equal(tmp_path, transformers.LlamaForCausalLM)
    document = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({k: v for k, v in document.items() if "dtype" not in k}))
    require_equal(tmp_path, transformers.LlamaForCausalLM)


def test_a_bare_model_and_one_with_a_head_fill_each_other(tmp_path: Path) -> None:
    """As the library does: the head of a saved model is left aside; one that was not saved is missing."""
    transformers.utils.logging.disable_progress_bar()
    config = transformers.LlamaConfig(**COMMON, tie_word_embeddings=False)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    document = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**document, "architectures": ["LlamaModel"]}))
    require_equal(tmp_path, transformers.LlamaModel)
    transformers.LlamaModel(config).save_pretrained(tmp_path / "bare")
    (tmp_path / "bare" / "config.json").write_text(json.dumps(document))
    with pytest.raises(CorruptData, match=r"lacks 1 .* lm_head.weight"):
        ours(tmp_path / "bare")


def test_a_device_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    transformers.utils.logging.disable_progress_bar()
    transformers.LlamaModel(transformers.LlamaConfig(**COMMON)).save_pretrained(tmp_path)
    for device in ("nowhere", "cuda:99", "cpu:x"):
        with pytest.raises(ConfigError, match=f"--device {device}"):
            load_model(open_checkpoint(StoredModel(0, tmp_path), pickle="refuse"), device=device)
