"""The reference decoder (paper §2.2, §2.4): every component can be switched off by itself, down to the minimal model.

Written to be read and to be checked against; the faster paths compute the same function. Shape letters:
B sequences, S positions, Q counted queries (the last of the S), D stream, H heads, E head size, O what a head writes,
N dictionary.
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from headwise.model.config import ModelConfig
from headwise.model.dropout import DropoutMasks, Site


class Steering(Protocol):
    """An intervention that replaces attention or what heads write; only this decoder, of all paths, obeys it."""

    def scores(self, s_BHQS: Tensor) -> Tensor:
        """Attention logits to use instead of these."""
        ...

    def written(self, y_BQO: Tensor) -> Tensor:
        """What the heads write together, instead of this."""
        ...


class Attention(nn.Module):
    """Causal multi-head attention; scores from query and key matrices or from one merged matrix per head."""

    lag_SS: Tensor

    def __init__(self, config: ModelConfig, *, stream: int, writes: int, positions: int, block: int) -> None:
        super().__init__()
        self.config, self.block = config, block
        heads = config.heads
        size = head_size(config, stream)
        if config.score == "merged":
            self.score_HDD = nn.Parameter(torch.zeros(heads, stream, stream))
        else:
            self.query_HED = nn.Parameter(torch.zeros(heads, size, stream))
            self.key_HED = nn.Parameter(torch.zeros(heads, size, stream))
        if config.positions == "relative":
            self.lag_HS = nn.Parameter(torch.zeros(heads, positions))
        value_size = size if config.output == "on" else writes
        self.value_HED = nn.Parameter(torch.zeros(heads, value_size, stream))
        if config.output == "on":
            self.output_OHE = nn.Parameter(torch.zeros(writes, heads, size))
        if config.attention_bias == "on":
            self.query_bias_HE = nn.Parameter(torch.zeros(heads, size))
            self.key_bias_HE = nn.Parameter(torch.zeros(heads, size))
            self.value_bias_HE = nn.Parameter(torch.zeros(heads, value_size))
            if config.output == "on":
                self.output_bias_O = nn.Parameter(torch.zeros(writes))
        scale = {"none": 1.0, "head": math.sqrt(size), "input": math.sqrt(stream)}[config.score_scale]
        self.inverse_scale = 1.0 / scale
        self.register_buffer("lag_SS", lag_matrix(positions), persistent=False)
        self.steering: Steering | None = None

    def scores(self, x_BSD: Tensor, queries: int) -> Tensor:
        """Attention logits of the last `queries` positions before masking, (B, H, Q, S)."""
        s_BHQS = torch.stack([self._scores_of(h, x_BSD, x_BSD[:, -queries:]) for h in range(self.config.heads)], dim=1)
        if self.config.positions == "relative":
            lag_QS = self.lag_SS[-queries:].clamp(min=1) - 1
            s_BHQS = s_BHQS + self.lag_HS[:, lag_QS]
        return s_BHQS

    def _scores_of(self, head: int, x_BSD: Tensor, x_BQD: Tensor) -> Tensor:
        if self.config.score == "merged":
            return (x_BQD @ one_head(self.score_HDD, head).T) @ x_BSD.transpose(1, 2) * self.inverse_scale
        q_BQE = x_BQD @ one_head(self.query_HED, head).T
        k_BSE = x_BSD @ one_head(self.key_HED, head).T
        if self.config.attention_bias == "on":
            q_BQE = q_BQE + self.query_bias_HE[head]
            k_BSE = k_BSE + self.key_bias_HE[head]
        return q_BQE @ k_BSE.transpose(1, 2) * self.inverse_scale

    def pattern(self, x_BSD: Tensor, queries: int) -> Tensor:
        """Attention weights, (B, H, Q, S): causal, and within the band when the context is restricted."""
        lag_QS = self.lag_SS[-queries:]
        hidden_QS = lag_QS < 1
        if self.config.context is not None:
            hidden_QS = hidden_QS | (lag_QS > self.config.context)
        s_BHQS = self.scores(x_BSD, queries)
        if self.steering is not None:
            s_BHQS = self.steering.scores(s_BHQS)
        return s_BHQS.masked_fill(hidden_QS, -math.inf).softmax(-1)

    def forward(self, x_BSD: Tensor, queries: int, masks: DropoutMasks | None) -> tuple[Tensor, Tensor]:
        """What the heads write together, (B, Q, O), and the attention weights before dropout."""
        a_BHQS = self.pattern(x_BSD, queries)
        used_BHQS = a_BHQS
        if masks is not None:
            used_BHQS = masks.apply(a_BHQS, self.config.dropout.attention, block=self.block, site=Site.ATTENTION)
        y_BQO = torch.stack([self.written_by(h, x_BSD, used_BHQS[:, h]) for h in range(self.config.heads)]).sum(0)
        if self.config.attention_bias == "on" and self.config.output == "on":
            y_BQO = y_BQO + self.output_bias_O
        return y_BQO if self.steering is None else self.steering.written(y_BQO), a_BHQS

    def written_by(self, head: int, x_BSD: Tensor, used_BQS: Tensor) -> Tensor:
        """What one head writes, (B, Q, O), with these attention weights."""
        v_BSE = x_BSD @ one_head(self.value_HED, head).T
        if self.config.attention_bias == "on":
            v_BSE = v_BSE + self.value_bias_HE[head]
        z_BQE = used_BQS.contiguous() @ v_BSE
        return z_BQE @ self.output_OHE[:, head].T if self.config.output == "on" else z_BQE


def one_head(stacked: Tensor, head: int) -> Tensor:
    """A copy of one head's matrix.

    Matrix products round differently at the edges of a large product and at other alignments of their operands. Heads
    that start equal must stay equal, so they are computed one at a time, each from tensors of its own.
    """
    return stacked[head].clone()


class Block(nn.Module):
    """Attention and an optional MLP, each with an optional residual connection and layer norm before or after."""

    def __init__(self, config: ModelConfig, *, stream: int, writes: int, positions: int, block: int) -> None:
        super().__init__()
        self.config, self.block, self.writes = config, block, writes
        self.attention = Attention(config, stream=stream, writes=writes, positions=positions, block=block)
        if config.norm != "none":
            self.norm_attention = nn.LayerNorm(stream)
        if config.mlp:
            self.mlp_in = nn.Linear(stream, config.mlp)
            self.mlp_out = nn.Linear(config.mlp, stream)
            if config.norm != "none":
                self.norm_mlp = nn.LayerNorm(stream)

    def forward(self, x_BSD: Tensor, queries: int, masks: DropoutMasks | None) -> tuple[Tensor, Tensor]:
        """The stream at the last `queries` positions after this block, and its attention weights."""
        seen_BSD = self.norm_attention(x_BSD) if self.config.norm == "pre" else x_BSD
        y_BQO, a_BHQS = self.attention(seen_BSD, queries, masks)
        return self.after_attention(x_BSD[:, -queries:, : self.writes], y_BQO, masks), a_BHQS

    def after_attention(self, x_BQO: Tensor, y_BQO: Tensor, masks: DropoutMasks | None) -> Tensor:
        """The rest of the block, position by position: `x_BQO` the stream before it, `y_BQO` what the heads wrote."""
        if masks is not None:
            rate = self.config.dropout.attention_branch
            y_BQO = masks.apply(y_BQO, rate, block=self.block, site=Site.ATTENTION_BRANCH)
        if self.config.residual == "on":
            y_BQO = x_BQO + y_BQO
        if self.config.norm == "post":
            y_BQO = self.norm_attention(y_BQO)
        return self._mlp(y_BQO, masks) if self.config.mlp else y_BQO

    def _mlp(self, y_BQD: Tensor, masks: DropoutMasks | None) -> Tensor:
        norm, dropout = self.config.norm, self.config.dropout
        hidden_BQM = functional.relu(self.mlp_in(self.norm_mlp(y_BQD) if norm == "pre" else y_BQD))
        if masks is not None:
            hidden_BQM = masks.apply(hidden_BQM, dropout.mlp, block=self.block, site=Site.MLP)
        z_BQD: Tensor = self.mlp_out(hidden_BQM)
        if masks is not None:
            z_BQD = masks.apply(z_BQD, dropout.mlp_branch, block=self.block, site=Site.MLP_BRANCH)
        if self.config.residual == "on":
            z_BQD = y_BQD + z_BQD
        if norm == "post":
            z_BQD = self.norm_mlp(z_BQD)
        return z_BQD


class Decoder(nn.Module):
    """Tokens to next-token logits.

    The stream is `token_table[token] + position_table[position]`. A one-hot embedding, or one-hot positions, makes
    that the concatenation [token; position] by giving each table zeros where the other has its entries.
    """

    position_SP: Tensor

    def __init__(self, config: ModelConfig, *, dictionary: int, positions: int) -> None:
        super().__init__()
        self.config, self.dictionary, self.positions = config, dictionary, positions
        self.token_size = config.width if config.embedding == "learned" else dictionary
        self.position_size = position_size(config, positions)
        self.concatenated = config.embedding == "one_hot" or config.positions == "one_hot"
        self.stream = self.token_size + (self.position_size if self.concatenated else 0)
        if config.embedding == "learned":
            self.embedding_ND = nn.Parameter(torch.zeros(dictionary, config.width))
        if config.positions == "learned":
            self.position_SP = nn.Parameter(torch.zeros(positions, self.position_size))
        elif config.positions == "sinusoidal":
            self.register_buffer("position_SP", sinusoids(positions, self.position_size), persistent=False)
        elif config.positions == "one_hot":
            self.register_buffer("position_SP", torch.eye(positions), persistent=False)
        # A last block whose output is read off its first coordinates need not write the others.
        trimmed = config.unembedding == "identity" and config.norm == "none" and config.mlp == 0
        self.blocks = nn.ModuleList(
            Block(
                config,
                stream=self.stream,
                writes=dictionary if trimmed and block == config.blocks - 1 else self.stream,
                positions=positions,
                block=block,
            )
            for block in range(config.blocks)
        )
        if config.unembedding == "learned":
            self.unembedding = nn.Linear(self.stream, dictionary, bias=config.unembedding_bias == "on")

    def token_table(self, tokens: Tensor | None = None) -> Tensor:
        """What each token puts into the stream, (N, D); of these tokens alone where some are given."""
        if self.config.embedding == "learned":
            table: Tensor = self.embedding_ND if tokens is None else self.embedding_ND.index_select(0, tokens)
        elif tokens is not None:
            table = functional.one_hot(tokens, self.dictionary).to(self.dtype)
        else:
            table = torch.eye(self.dictionary, dtype=self.dtype, device=self.device)
        return functional.pad(table, (0, self.stream - self.token_size))

    def position_table(self) -> Tensor:
        """What each position puts into the stream, (S, D)."""
        if self.config.positions == "relative":
            return torch.zeros(self.positions, self.stream, dtype=self.dtype, device=self.device)
        before = self.token_size if self.concatenated else 0
        return functional.pad(self.position_SP, (before, 0))

    @property
    def layers(self) -> list[Block]:
        """The blocks, typed."""
        return [block for block in self.blocks if isinstance(block, Block)]

    @property
    def dtype(self) -> torch.dtype:
        return next(self.parameters()).dtype

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def forward(
        self, tokens_BS: Tensor, counted: int, masks: DropoutMasks | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Logits after each of the last `counted` positions, (B, Q, N), and each block's attention, (B, H, Q', S).

        Blocks before the last need every query, so their attention has Q' = S. Dropout is on where masks are given.
        """
        x = self.token_table()[tokens_BS] + self.position_table()
        if masks is not None:
            x = masks.apply(x, self.config.dropout.embedding, block=0, site=Site.EMBEDDING)
        attention = []
        for index, block in enumerate(self.layers):
            last = index == len(self.blocks) - 1
            x, a_BHQS = block(x, counted if last else self.positions, masks)
            attention.append(a_BHQS)
        return self.read_out(x), attention

    def read_out(self, x_BQD: Tensor) -> Tensor:
        """Logits from the stream after the last block."""
        if self.config.unembedding == "identity":
            return x_BQD[..., : self.dictionary]
        logits: Tensor = self.unembedding(x_BQD)
        return logits


def head_size(config: ModelConfig, stream: int) -> int:
    """Size of a head's queries, keys and values: width / heads, or the whole one-hot stream as in §2.2."""
    return config.width // config.heads if config.embedding == "learned" else stream


def position_size(config: ModelConfig, positions: int) -> int:
    """Coordinates of a position: its own beside one-hot tokens, the width when added to learned embeddings."""
    if config.positions == "relative":
        return 0
    if config.positions == "one_hot" or config.embedding == "one_hot":
        return positions
    return config.width


def lag_matrix(positions: int) -> Tensor:
    """Lag of each key for each query, (S, S): predicted position minus key position; below 1 lies ahead."""
    index = torch.arange(positions)
    return index[:, None] + 1 - index[None, :]


def sinusoids(positions: int, size: int) -> Tensor:
    """The usual sine and cosine position features, (S, P), at geometrically spaced wavelengths up to 10000."""
    index = torch.arange(positions, dtype=torch.float64)[:, None]
    pair = torch.arange(size, dtype=torch.float64) // 2
    angle = index / 10000.0 ** (2 * pair / max(size, 2))
    odd = torch.arange(size) % 2 == 1
    return torch.where(odd, angle.cos(), angle.sin()).to(torch.get_default_dtype())
