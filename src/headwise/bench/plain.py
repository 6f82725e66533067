"""The models as people would write them in torch: the baseline of the benchmark.

Shares no code with `model` beyond the weights it copies, so that it can also check the paths (`plain_gradients`).
"""

from __future__ import annotations

from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from headwise.model.decoder import Decoder


class PlainFull(nn.Module):
    """Embedding, learned positions, torch's own encoder layer with a causal mask, unembedding."""

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        config, rates = decoder.config, decoder.config.dropout
        self.embedding = nn.Embedding(decoder.dictionary, config.width)
        self.position = nn.Parameter(torch.zeros(decoder.positions, config.width))
        self.dropout = nn.Dropout(rates.embedding)
        self.layer = nn.TransformerEncoderLayer(
            config.width, config.heads, config.mlp, dropout=rates.attention, batch_first=True
        )
        self.layer.dropout.p, self.layer.dropout1.p = rates.mlp, rates.attention_branch
        self.layer.dropout2.p = rates.mlp_branch
        self.unembedding = nn.Linear(config.width, decoder.dictionary, bias=config.unembedding_bias == "on")
        self.to(decoder.dtype)
        self.copy_from(decoder)

    def forward(self, tokens: Tensor, counted: int) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], dtype=self.position.dtype)
        x = self.dropout(self.embedding(tokens) + self.position)
        x = self.layer(x, src_mask=mask, is_causal=True)
        return cast(Tensor, self.unembedding(x)[:, -counted:])

    @torch.no_grad()
    def copy_from(self, decoder: Decoder) -> None:
        """Take the decoder's weights; torch stacks query, key and value, and has biases where the decoder may not."""
        block = decoder.layers[0]
        attention, own = block.attention, self.layer.self_attn
        pairs = self._pairs(decoder)
        own.in_proj_bias.zero_()
        own.out_proj.bias.zero_()
        for mine, theirs in pairs:
            mine.copy_(theirs)
        own.in_proj_weight.copy_(
            torch.cat([w.flatten(0, 1) for w in (attention.query_HED, attention.key_HED, attention.value_HED)])
        )
        if decoder.config.attention_bias == "on":
            biases = (attention.query_bias_HE, attention.key_bias_HE, attention.value_bias_HE)
            own.in_proj_bias.copy_(torch.cat([b.flatten() for b in biases]))

    def gradients_like(self, decoder: Decoder) -> list[Tensor]:
        """This module's gradients in the order and the shapes of the decoder's parameters."""
        block = decoder.layers[0]
        attention, own = block.attention, self.layer.self_attn
        assert own.in_proj_weight.grad is not None
        assert own.in_proj_bias.grad is not None
        found = {id(theirs): _grad(mine) for mine, theirs in self._pairs(decoder)}
        weights = (attention.query_HED, attention.key_HED, attention.value_HED)
        found |= {id(w): g for w, g in zip(weights, own.in_proj_weight.grad.chunk(3), strict=True)}
        if decoder.config.attention_bias == "on":
            biases = (attention.query_bias_HE, attention.key_bias_HE, attention.value_bias_HE)
            found |= {id(b): g for b, g in zip(biases, own.in_proj_bias.grad.chunk(3), strict=True)}
        return [found[id(parameter)].reshape(parameter.shape) for parameter in decoder.parameters()]

    def _pairs(self, decoder: Decoder) -> list[tuple[Tensor, Tensor]]:
        """Parameters of equal content: mine, the decoder's; the output matrix (O, H, E) read as (O, H E)."""
        block, layer = decoder.layers[0], self.layer
        pairs: list[tuple[Tensor, Tensor]] = [
            (self.embedding.weight, decoder.embedding_ND),
            (self.position, decoder.position_SP),
            (self.unembedding.weight, decoder.unembedding.weight),
            (layer.self_attn.out_proj.weight.view_as(block.attention.output_OHE), block.attention.output_OHE),
        ]
        for mine, theirs in (
            (layer.linear1, block.mlp_in),
            (layer.linear2, block.mlp_out),
            (layer.norm1, block.norm_attention),
            (layer.norm2, block.norm_mlp),
        ):
            pairs += [(mine.weight, theirs.weight), (mine.bias, theirs.bias)]
        if decoder.config.unembedding_bias == "on":
            pairs.append((self.unembedding.bias, decoder.unembedding.bias))
        if decoder.config.attention_bias == "on":
            pairs.append((layer.self_attn.out_proj.bias, block.attention.output_bias_O))
        return pairs


Order = Literal["equation", "pairwise"]


class PlainMinimal(nn.Module):
    """One-hot tokens and positions side by side, and einsum.

    `equation` writes each line of the model as one einsum of three factors, which torch multiplies from left to right;
    `pairwise` forms queries and values first, as one does for a full model, and is the faster of the two.
    """

    def __init__(self, decoder: Decoder, order: Order = "equation") -> None:
        super().__init__()
        self.order = order
        attention = decoder.layers[0].attention
        self.dictionary, self.scale = decoder.dictionary, attention.inverse_scale
        self.score = nn.Parameter(attention.score_HDD.detach().clone())
        self.value = nn.Parameter(attention.value_HED.detach().clone())

    def forward(self, tokens: Tensor, counted: int) -> Tensor:
        size = tokens.shape[1]
        positions = torch.eye(size, dtype=self.score.dtype).expand(tokens.shape[0], size, size)
        x = torch.cat([functional.one_hot(tokens, self.dictionary).to(self.score.dtype), positions], dim=-1)
        if self.order == "equation":
            logits = torch.einsum("bqe,hde,bsd->bhqs", x, self.score, x) * self.scale
        else:
            queries = torch.einsum("bqe,hde->bhqd", x, self.score)
            logits = torch.einsum("bhqd,bsd->bhqs", queries, x) * self.scale
        hidden = torch.ones(size, size, dtype=torch.bool).triu(1)
        attention = logits.masked_fill(hidden, -torch.inf).softmax(-1)
        if self.order == "equation":
            return torch.einsum("bhqs,bsd,hnd->bqn", attention, x, self.value)[:, -counted:]
        values = torch.einsum("bsd,hnd->bhsn", x, self.value)
        return torch.einsum("bhqs,bhsn->bqn", attention, values)[:, -counted:]

    def gradients_like(self, decoder: Decoder) -> list[Tensor]:
        """This module's gradients in the order of the decoder's parameters."""
        return [_grad(self.score), _grad(self.value)]


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
