"""The models as people would write them in torch: the baseline of the benchmark.

Shares no code with `model` beyond the weights it copies, so that it can also check the paths (`plain_gradients`).
"""

from __future__ import annotations

from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from headwise.model.decoder import Attention, Decoder


class PlainFull(nn.Module):
    """Embedding, learned positions, torch's own encoder layers with a causal mask, unembedding."""

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        config, rates = decoder.config, decoder.config.dropout
        self.embedding = nn.Embedding(decoder.dictionary, config.width)
        self.position = nn.Parameter(torch.zeros(decoder.positions, config.width))
        self.dropout = nn.Dropout(rates.embedding)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                config.width,
                config.heads,
                config.mlp,
                dropout=rates.attention,
                batch_first=True,
                norm_first=config.norm == "pre",
            )
            for _ in range(config.blocks)
        )
        for layer in self.encoder_layers:
            layer.dropout.p, layer.dropout1.p = rates.mlp, rates.attention_branch
            layer.dropout2.p = rates.mlp_branch
        self.unembedding = nn.Linear(config.width, decoder.dictionary, bias=config.unembedding_bias == "on")
        self.to(decoder.dtype)
        self.copy_from(decoder)

    @property
    def encoder_layers(self) -> list[nn.TransformerEncoderLayer]:
        """The layers, typed."""
        return [layer for layer in self.layers if isinstance(layer, nn.TransformerEncoderLayer)]

    def forward(self, tokens: Tensor, counted: int) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], dtype=self.position.dtype)
        x = self.dropout(self.embedding(tokens) + self.position)
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return cast(Tensor, self.unembedding(x)[:, -counted:])

    @torch.no_grad()
    def copy_from(self, decoder: Decoder) -> None:
        """Take the decoder's weights; torch stacks query, key and value, and has biases where the decoder may not."""
        for block, layer in zip(decoder.layers, self.encoder_layers, strict=True):
            layer.self_attn.in_proj_bias.zero_()
            layer.self_attn.out_proj.bias.zero_()
            weights = stacked(block.attention, decoder.config.attention_bias == "on")
            layer.self_attn.in_proj_weight.copy_(torch.cat([weight.flatten(0, 1) for weight in weights.matrices]))
            if weights.biases:
                layer.self_attn.in_proj_bias.copy_(torch.cat([bias.flatten() for bias in weights.biases]))
        for mine, theirs in self._pairs(decoder):
            mine.copy_(theirs)

    def gradients_like(self, decoder: Decoder) -> list[Tensor]:
        """This module's gradients in the order and the shapes of the decoder's parameters."""
        found = {id(theirs): _grad(mine) for mine, theirs in self._pairs(decoder)}
        for block, layer in zip(decoder.layers, self.encoder_layers, strict=True):
            own, weights = layer.self_attn, stacked(block.attention, decoder.config.attention_bias == "on")
            found |= {id(w): g for w, g in zip(weights.matrices, _grad(own.in_proj_weight).chunk(3), strict=True)}
            if weights.biases:
                found |= {id(b): g for b, g in zip(weights.biases, _grad(own.in_proj_bias).chunk(3), strict=True)}
        return [found[id(parameter)].reshape(parameter.shape) for parameter in decoder.parameters()]

    def _pairs(self, decoder: Decoder) -> list[tuple[Tensor, Tensor]]:
        """Parameters of equal content: mine, the decoder's; the output matrix (O, H, E) read as (O, H E)."""
        pairs: list[tuple[Tensor, Tensor]] = [
            (self.embedding.weight, decoder.embedding_ND),
            (self.position, decoder.position_SP),
            (self.unembedding.weight, decoder.unembedding.weight),
        ]
        for block, layer in zip(decoder.layers, self.encoder_layers, strict=True):
            output = block.attention.output_OHE
            pairs.append((layer.self_attn.out_proj.weight.view_as(output), output))
            for mine, theirs in (
                (layer.linear1, block.mlp_in),
                (layer.linear2, block.mlp_out),
                (layer.norm1, block.norm_attention),
                (layer.norm2, block.norm_mlp),
            ):
                pairs += [(mine.weight, theirs.weight), (mine.bias, theirs.bias)]
            if decoder.config.attention_bias == "on":
                pairs.append((layer.self_attn.out_proj.bias, block.attention.output_bias_O))
        if decoder.config.unembedding_bias == "on":
            pairs.append((self.unembedding.bias, decoder.unembedding.bias))
        return pairs


class Stacked(NamedTuple):
    """What torch keeps in one matrix and one bias: query, key and value."""

    matrices: list[Tensor]
    biases: list[Tensor]


def stacked(attention: Attention, biased: bool) -> Stacked:
    """The decoder's parts of torch's stacked projection; no biases where the decoder has none."""
    biases: list[Tensor] = []
    if biased:
        biases = [attention.query_bias_HE, attention.key_bias_HE, attention.value_bias_HE]
    return Stacked([attention.query_HED, attention.key_HED, attention.value_HED], biases)


Order = Literal["equation", "pairwise"]


class PlainMinimal(nn.Module):
    """One-hot tokens and positions side by side, and einsum; a block's output is the next one's input.

    `equation` writes each line of the model as one einsum of three factors, which torch multiplies from left to right;
    `pairwise` forms queries and values first, as one does for a full model, and is the faster of the two.
    """

    def __init__(self, decoder: Decoder, order: Order = "equation") -> None:
        super().__init__()
        self.order = order
        self.dictionary, self.scale = decoder.dictionary, decoder.layers[0].attention.inverse_scale
        attentions = [block.attention for block in decoder.layers]
        self.scores = nn.ParameterList(attention.score_HDD.detach().clone() for attention in attentions)
        self.values = nn.ParameterList(attention.value_HED.detach().clone() for attention in attentions)

    def forward(self, tokens: Tensor, counted: int) -> Tensor:
        size, like = tokens.shape[1], self.scores[0].dtype
        positions = torch.eye(size, dtype=like).expand(tokens.shape[0], size, size)
        x = torch.cat([functional.one_hot(tokens, self.dictionary).to(like), positions], dim=-1)
        for score, value in zip(self.scores, self.values, strict=True):
            x = self._block(x, score, value)
        return x[:, -counted:]

    def _block(self, x: Tensor, score: Tensor, value: Tensor) -> Tensor:
        if self.order == "equation":
            logits = torch.einsum("bqe,hde,bsd->bhqs", x, score, x) * self.scale
        else:
            queries = torch.einsum("bqe,hde->bhqd", x, score)
            logits = torch.einsum("bhqd,bsd->bhqs", queries, x) * self.scale
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        attention = logits.masked_fill(hidden, -torch.inf).softmax(-1)
        if self.order == "equation":
            return torch.einsum("bhqs,bsd,hnd->bqn", attention, x, value)
        values = torch.einsum("bsd,hnd->bhsn", x, value)
        return torch.einsum("bhqs,bhsn->bqn", attention, values)

    def gradients_like(self, decoder: Decoder) -> list[Tensor]:
        """This module's gradients in the order of the decoder's parameters."""
        both = zip(self.scores, self.values, strict=True)
        return [_grad(parameter) for pair in both for parameter in pair]


Plain = PlainFull | PlainMinimal


def plain_model(decoder: Decoder) -> Plain:
    """The plain form of the full or the minimal decoder."""
    return PlainMinimal(decoder) if decoder.config.embedding == "one_hot" else PlainFull(decoder)


def plain_step(model: Plain, inputs: Tensor, targets: Tensor, *, chunk: int | None) -> float:
    """Loss and gradients, of the whole batch at once or chunk by chunk."""
    model.train()
    model.zero_grad()
    total, size = 0.0, chunk or inputs.shape[0]
    for start in range(0, inputs.shape[0], size):
        part = slice(start, start + size)
        logits = model(inputs[part], targets.shape[1])
        loss = functional.cross_entropy(logits.flatten(0, 1), targets[part].flatten(), reduction="sum")
        torch.autograd.backward(loss / targets.numel())
        total += loss.item()
    return total / targets.numel()


@torch.no_grad()
def plain_evaluation(model: Plain, inputs: Tensor, *, counted: int, chunk: int | None) -> Tensor:
    """Logits of the counted positions without dropout."""
    model.eval()
    size = chunk or inputs.shape[0]
    return torch.cat([model(inputs[i : i + size], counted) for i in range(0, inputs.shape[0], size)])


def _grad(parameter: Tensor) -> Tensor:
    base = parameter._base if parameter._base is not None else parameter
    assert base.grad is not None
    return base.grad
