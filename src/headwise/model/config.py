"""Every model from the full decoder to the minimal one (paper §2.2, §2.4, App. E) as one set of switches."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from headwise.core.config import Config, Switch

NO_LONGER_KEEPS = 1 - 2.0**-17
"""From this rate on nothing would be kept: masks know the rates that are multiples of 2^-16, and the nearest is 1."""

Rate = Annotated[float, Field(ge=0, lt=NO_LONGER_KEEPS)]


class DropoutConfig(Config):
    """Dropout rate at each site of a block, and on the embeddings before the first block."""

    embedding: Annotated[Rate, Field(description="on token plus position embeddings")] = 0.0
    attention: Annotated[Rate, Field(description="on attention weights")] = 0.0
    attention_branch: Annotated[Rate, Field(description="on what attention adds to the stream")] = 0.0
    mlp: Annotated[Rate, Field(description="on the hidden units of the MLP")] = 0.0
    mlp_branch: Annotated[Rate, Field(description="on what the MLP adds to the stream")] = 0.0


class ModelConfig(Config):
    """One decoder; the defaults are the minimal model as the text describes it.

    A one-hot embedding makes the stream the concatenation [token; position] of the paper's construction and needs no
    width; a learned one adds positions of size `width`. `score` keeps query and key matrices apart (`product`) or
    merges them into one matrix A_k (`merged`). Without an output matrix each head writes to the stream directly.

    >>> from headwise import ModelConfig
    >>> ModelConfig(heads=4).score
    'merged'
    """

    heads: Annotated[int, Field(ge=1, le=1024, description="attention heads in each block")] = 3
    blocks: Annotated[int, Field(ge=1, le=256, description="layers of heads, one after the other")] = 1
    embedding: Annotated[Literal["one_hot", "learned"], Field(description="token embedding")] = "one_hot"
    width: Annotated[int, Field(ge=1, le=65_536, description="size of a learned embedding")] = 255
    positions: Annotated[
        Literal["one_hot", "learned", "sinusoidal", "relative"],
        Field(description="relative: a learned score per head and lag, nothing in the stream"),
    ] = "one_hot"
    score: Annotated[Literal["product", "merged"], Field(description="query and key matrices, or one A_k")] = "merged"
    score_scale: Annotated[
        Literal["none", "head", "input"],
        Field(description="divide attention logits by 1, sqrt(head size) or sqrt(input size)"),
    ] = "none"
    attention_bias: Annotated[Switch, Field(description="biases of query, key, value and output")] = "off"
    output: Annotated[Switch, Field(description="output matrix after the values")] = "off"
    residual: Annotated[Switch, Field(description="residual connections around attention and MLP")] = "off"
    norm: Annotated[Literal["none", "post", "pre"], Field(description="layer norm and its place")] = "none"
    mlp: Annotated[int, Field(ge=0, le=1_000_000, description="hidden units of the ReLU MLP, 0 for none")] = 0
    unembedding: Annotated[
        Literal["identity", "learned"], Field(description="identity: the first d coordinates are the logits")
    ] = "identity"
    unembedding_bias: Annotated[Switch, Field(description="a bias of the learned unembedding")] = "off"
    dropout: Annotated[DropoutConfig, Field(description="dropout rate")] = DropoutConfig()
    context: Annotated[int | None, Field(ge=1, description="attention band: lags beyond this are masked")] = None
    window: Annotated[
        int | None, Field(ge=1, description="train and predict on windows of this many tokens sliding over a sequence")
    ] = None
    init: Annotated[
        Literal["uniform", "xavier", "torch"],
        Field(description="score matrices: U[-u, u], Xavier-uniform times u, or torch's defaults times u"),
    ] = "uniform"
    init_scale: Annotated[float, Field(ge=0, description="the u of `init`")] = 1e-9
    init_values: Annotated[Literal["zero", "xavier", "torch"], Field(description="value and output matrices")] = "zero"
    init_rest: Annotated[
        Literal["published", "torch"],
        Field(description="published: orthogonal embeddings of unit spectral norm, Xavier-uniform else"),
    ] = "published"
    position_rows: Annotated[
        int | None,
        Field(
            ge=1, le=1_000_000, description="rows of the learned position table, for its Xavier bound; none: those used"
        ),
    ] = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.embedding == "learned" and self.width % self.heads:
            raise ValueError(
                f"model.width = {self.width} is not divisible by model.heads = {self.heads}; "
                f"the nearest width that is: {max(1, round(self.width / self.heads)) * self.heads}"
            )
        if self.embedding == "one_hot" and self.dropout.embedding:
            raise ValueError("model.dropout.embedding needs model.embedding = learned")
        if self.unembedding == "identity" and self.unembedding_bias == "on":
            raise ValueError("model.unembedding_bias = on needs model.unembedding = learned")
        if self.unembedding == "identity" and self.embedding == "learned":
            raise ValueError("model.embedding = learned needs model.unembedding = learned")
        if self.attention_bias == "on" and self.score == "merged":
            raise ValueError("model.attention_bias = on needs model.score = product")
        if self.position_rows is not None and (self.positions != "learned" or self.init_rest != "published"):
            raise ValueError("model.position_rows needs model.positions = learned and model.init_rest = published")
        if self.window is not None and self.context is not None and self.context > self.window:
            raise ValueError(f"model.context = {self.context} exceeds model.window = {self.window}; lower it")
        return self


FULL_PUBLISHED = ModelConfig(
    embedding="learned",
    positions="learned",
    score="product",
    score_scale="head",
    output="on",
    residual="on",
    norm="post",
    mlp=64,
    unembedding="learned",
    dropout=DropoutConfig(embedding=0.1, attention=0.1, attention_branch=0.1, mlp_branch=0.1),
    init="xavier",
    init_scale=1.0,
    init_values="xavier",
    init_rest="published",
)
"""The full decoder as the published figures were drawn; when its dropout acted is a matter of `train.dropout_steps`."""

FULL_TEXT = FULL_PUBLISHED.changed(
    {
        "attention_bias": "on",
        "unembedding_bias": "on",
        "dropout": DropoutConfig(attention=0.1, attention_branch=0.1, mlp=0.1, mlp_branch=0.1),
        "init": "torch",
        "init_values": "torch",
        "init_rest": "torch",
    }
)
"""The full decoder as the text's tables describe it, around torch's own encoder layer."""

MINIMAL_TEXT = ModelConfig()
"""The minimal model as the text describes it."""

MINIMAL_PUBLISHED = MINIMAL_TEXT.changed({"score_scale": "input"})
"""The minimal model as the published figures were drawn: logits divided by sqrt(d + S)."""
