"""Tiny Hugging Face models, made from a config, with eager attention."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from headwise.core.extras import require_library

START = 0.1
"""Standard deviation of the weights; the libraries' 0.02 is for widths of hundreds."""


class HuggingFaceModel(nn.Module):
    """Logits of the inner model; `watched` is what a user would give to `headwise.watch`."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.watched = inner

    def attention(self, tokens_BS: Tensor) -> list[Tensor]:
        return list(self.watched(tokens_BS, output_attentions=True).attentions)

    def forward(self, tokens_BS: Tensor) -> Tensor:
        logits: Tensor = self.watched(tokens_BS).logits
        return logits


def tiny_bert(*, vocabulary: int, length: int, width: int, heads: int, blocks: int, seed: int) -> HuggingFaceModel:
    """A BERT with a masked-language-model head."""
    transformers = require_library("transformers")
    config = transformers.BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=blocks,
        num_attention_heads=heads,
        intermediate_size=2 * width,
        max_position_embeddings=length,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=None,
        initializer_range=START,
        attn_implementation="eager",
    )
    return _drawn(transformers.BertForMaskedLM, config, seed)


def tiny_gpt2(*, vocabulary: int, length: int, width: int, heads: int, blocks: int, seed: int) -> HuggingFaceModel:
    """A GPT-2."""
    transformers = require_library("transformers")
    config = transformers.GPT2Config(
        vocab_size=vocabulary,
        n_positions=length,
        n_embd=width,
        n_layer=blocks,
        n_head=heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
        initializer_range=START,
        attn_implementation="eager",
    )
    return _drawn(transformers.GPT2LMHeadModel, config, seed)


def _drawn(family: Any, config: Any, seed: int) -> HuggingFaceModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return HuggingFaceModel(family(config))
