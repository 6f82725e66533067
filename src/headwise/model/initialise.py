"""Initial weights, drawn in a fixed order from one seed, always in float32 so that a float64 run starts equal.

Score matrices (query, key, or the merged A_k) follow `init` and `init_scale`; value and output matrices follow
`init_values`; embeddings, MLP and unembedding follow `init_rest`. Layer norms start as the identity, biases at zero
unless torch's own defaults are asked for.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from headwise.model.config import ModelConfig
from headwise.model.decoder import Attention, Decoder


def initialise(decoder: Decoder, seed: int) -> None:
    """Fill every parameter of `decoder` from `seed`."""
    rng = torch.Generator().manual_seed(seed)
    config = decoder.config
    torch_rest = config.init_rest == "torch"
    with torch.no_grad():
        if config.embedding == "learned":
            _fill(
                decoder.embedding_ND,
                _normal(decoder.embedding_ND, rng) if torch_rest else _orthogonal(decoder.embedding_ND, rng),
            )
        if config.positions == "learned":
            positions = decoder.position_SP
            used, size = positions.shape
            # Rows that no position uses get no gradient: of a longer table they leave its smaller bound alone.
            bound = xavier(config.position_rows or used, size)
            _fill(positions, _normal(positions, rng) if torch_rest else _uniform(positions, bound, rng))
        for block in decoder.layers:
            _initialise_attention(block.attention, config, rng)
            if config.mlp:
                for layer in (block.mlp_in, block.mlp_out):
                    _initialise_linear(layer, rng, torch_default=torch_rest)
        if config.unembedding == "learned":
            _initialise_linear(decoder.unembedding, rng, torch_default=torch_rest)
            if not torch_rest:
                _fill(decoder.unembedding.weight, _orthogonal(decoder.unembedding.weight, rng))


def xavier(fan_out: int, fan_in: int) -> float:
    """Bound of the Xavier-uniform law."""
    return math.sqrt(6.0 / (fan_in + fan_out))


def _initialise_attention(attention: Attention, config: ModelConfig, rng: torch.Generator) -> None:
    if config.score == "merged":
        scores = [attention.score_HDD]
        fans = (attention.score_HDD.shape[1], attention.score_HDD.shape[2])
    else:
        scores = [attention.query_HED, attention.key_HED]
        heads, size, stream = attention.query_HED.shape
        # torch stacks query, key and value into one matrix before it applies Xavier's law.
        fans = (3 * heads * size if config.init == "torch" else heads * size, stream)
    bound = config.init_scale * (1.0 if config.init == "uniform" else xavier(*fans))
    for score in scores:
        _fill(score, _uniform(score, bound, rng))
    if config.positions == "relative":
        _fill(attention.lag_HS, _uniform(attention.lag_HS, bound, rng))
    heads, size, stream = attention.value_HED.shape
    if config.init_values != "zero":
        stacked = heads * size if config.output == "on" else size
        fan_out = 3 * stacked if config.init_values == "torch" else stacked
        _fill(attention.value_HED, _uniform(attention.value_HED, xavier(fan_out, stream), rng))
    if config.output == "on" and config.init_values != "zero":
        output = attention.output_OHE
        fan_in = output.shape[1] * output.shape[2]
        bound = 1 / math.sqrt(fan_in) if config.init_values == "torch" else xavier(output.shape[0], fan_in)
        _fill(output, _uniform(output, bound, rng))
    elif config.output == "on":
        # With both value and output at zero no gradient would ever reach either: the output starts as Xavier's.
        output = attention.output_OHE
        _fill(output, _uniform(output, xavier(output.shape[0], output.shape[1] * output.shape[2]), rng))
    for name, parameter in attention.named_parameters():
        if "bias" in name:
            parameter.zero_()


def _initialise_linear(layer: nn.Linear, rng: torch.Generator, *, torch_default: bool) -> None:
    fan_out, fan_in = layer.weight.shape
    bound = 1 / math.sqrt(fan_in) if torch_default else xavier(fan_out, fan_in)
    _fill(layer.weight, _uniform(layer.weight, bound, rng))
    if layer.bias is not None:
        _fill(layer.bias, _uniform(layer.bias, bound if torch_default else 0.0, rng))


def _uniform(like: Tensor, bound: float, rng: torch.Generator) -> Tensor:
    # In this form a bound of zero gives +0 everywhere, not zeros of either sign.
    return torch.rand(like.shape, generator=rng, dtype=torch.float32) * (2 * bound) - bound


def _normal(like: Tensor, rng: torch.Generator) -> Tensor:
    return torch.randn(like.shape, generator=rng, dtype=torch.float32)


def _orthogonal(like: Tensor, rng: torch.Generator) -> Tensor:
    """Orthonormal rows or columns, so that the spectral norm is one; in float64 so that it is so to the last bit."""
    rows, columns = like.shape
    gaussian = torch.randn(max(rows, columns), min(rows, columns), generator=rng, dtype=torch.float32).double()
    q: Tensor
    q, r = torch.linalg.qr(gaussian)
    q = q * r.diagonal().sign()
    q = q if rows >= columns else q.T
    return q.to(torch.float32)


def _fill(parameter: Tensor, values: Tensor) -> None:
    parameter.copy_(values.to(parameter.dtype))
