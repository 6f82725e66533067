"""The full decoder is torch's own encoder layer; the minimal one is §2.2 written out."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from headwise.model.config import FULL_TEXT, MINIMAL_PUBLISHED, DropoutConfig, ModelConfig
from headwise.model.decoder import Decoder
from headwise.model.initialise import initialise

NO_DROPOUT = {"dropout": DropoutConfig()}


def as_torch_layer(decoder: Decoder) -> nn.TransformerEncoderLayer:
    """torch's layer with the decoder's weights."""
    config, block = decoder.config, decoder.layers[0]
    attention = block.attention
    layer = nn.TransformerEncoderLayer(
        config.width, config.heads, config.mlp, dropout=0.0, batch_first=True, norm_first=config.norm == "pre"
    ).double()
    with torch.no_grad():
        stacked = [attention.query_HED, attention.key_HED, attention.value_HED]
        layer.self_attn.in_proj_weight.copy_(torch.cat([m.flatten(0, 1) for m in stacked]))
        biases = [attention.query_bias_HE, attention.key_bias_HE, attention.value_bias_HE]
        layer.self_attn.in_proj_bias.copy_(torch.cat([b.flatten() for b in biases]))
        layer.self_attn.out_proj.weight.copy_(attention.output_OHE.flatten(1))
        layer.self_attn.out_proj.bias.copy_(attention.output_bias_O)
        for mine, theirs in (
            (block.mlp_in, layer.linear1),
            (block.mlp_out, layer.linear2),
            (block.norm_attention, layer.norm1),
            (block.norm_mlp, layer.norm2),
        ):
            theirs.load_state_dict(mine.state_dict())
    return layer


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("heads", [1, 3])
def test_full_decoder_equals_torch_encoder_layer(norm: str, heads: int) -> None:
    torch.manual_seed(0)
    config = FULL_TEXT.changed({**NO_DROPOUT, "norm": norm, "heads": heads, "width": 24, "mlp": 10})
    decoder = Decoder(config, dictionary=7, positions=9).double()
    initialise(decoder, 3)
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))  # biases and norms away from their trivial start
    layer = as_torch_layer(decoder)
    tokens = torch.randint(0, 7, (5, 9))
    weights = torch.randn(5, 4, 7, dtype=torch.float64)
    causal = nn.Transformer.generate_square_subsequent_mask(9, dtype=torch.float64)

    def by_torch() -> torch.Tensor:
        x = decoder.embedding_ND[tokens] + decoder.position_SP
        return decoder.unembedding(layer(x, src_mask=causal, is_causal=True))[:, -4:]

    mine, theirs = decoder(tokens, 4)[0], by_torch()
    assert (mine - theirs).abs().max() < 1e-10
    (mine * weights).sum().backward()
    gradients = {name: p.grad.clone() for name, p in decoder.named_parameters()}
    decoder.zero_grad()
    (theirs * weights).sum().backward()
    block = "blocks.0.attention."
    stacked = torch.cat([gradients[block + f"{m}_HED"].flatten(0, 1) for m in ("query", "key", "value")])
    assert (stacked - layer.self_attn.in_proj_weight.grad).abs().max() < 1e-10
    assert (gradients[block + "output_OHE"].flatten(1) - layer.self_attn.out_proj.weight.grad).abs().max() < 1e-10
    assert (gradients["blocks.0.mlp_in.weight"] - layer.linear1.weight.grad).abs().max() < 1e-10
    assert (gradients["blocks.0.norm_attention.weight"] - layer.norm1.weight.grad).abs().max() < 1e-10
    for name in ("embedding_ND", "position_SP", "unembedding.weight"):
        assert (gradients[name] - dict(decoder.named_parameters())[name].grad).abs().max() < 1e-10


def transcription(decoder: Decoder, tokens: torch.Tensor, counted: int, scale: float) -> torch.Tensor:
    """§2.2, one sequence, one query and one head at a time: X~ = [X; I], a = softmax(M(X~' K'Q x~)), sum of V X~ a."""
    d, positions = decoder.dictionary, decoder.positions
    attention = decoder.layers[0].attention
    out = torch.zeros(tokens.shape[0], counted, d, dtype=torch.float64)
    for b, sequence in enumerate(tokens):
        x = torch.zeros(d + positions, positions, dtype=torch.float64)
        x[sequence, torch.arange(positions)] = 1
        x[d:] = torch.eye(positions, dtype=torch.float64)
        for q in range(counted):
            t = positions - counted + q
            for k in range(decoder.config.heads):
                scores = x.T @ attention.score_HDD[k] @ x[:, t] / scale
                scores = torch.where(torch.arange(positions) <= t, scores, -math.inf)
                out[b, q] += attention.value_HED[k] @ x @ torch.softmax(scores, 0)
    return out


@pytest.mark.parametrize("published", [False, True])
def test_minimal_decoder_is_section_2_2(published: bool) -> None:
    torch.manual_seed(1)
    config = MINIMAL_PUBLISHED if published else ModelConfig()
    decoder = Decoder(config, dictionary=4, positions=7).double()
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.copy_(torch.randn_like(parameter))
    tokens = torch.randint(0, 4, (3, 7))
    weights = torch.randn(3, 5, 4, dtype=torch.float64)
    scale = math.sqrt(4 + 7) if published else 1.0
    mine, theirs = decoder(tokens, 5)[0], transcription(decoder, tokens, 5, scale)
    assert (mine - theirs).abs().max() < 1e-10
    parameters = list(decoder.parameters())
    for a, b in zip(
        torch.autograd.grad((mine * weights).sum(), parameters),
        torch.autograd.grad((theirs * weights).sum(), parameters),
        strict=True,
    ):
        assert (a - b).abs().max() < 1e-10
