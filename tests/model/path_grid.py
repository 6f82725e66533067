"""The models every fast path is held to: each component on and off, alone and together."""

from __future__ import annotations

import torch

from headwise.model.config import FULL_PUBLISHED, FULL_TEXT, MINIMAL_PUBLISHED, DropoutConfig, ModelConfig
from headwise.model.decoder import Decoder

SMALL = {"width": 12, "heads": 3, "mlp": 10}
EVERYWHERE = DropoutConfig(attention=0.2, attention_branch=0.3, mlp=0.25, mlp_branch=0.1)
TEXT = FULL_TEXT.model_copy(update=SMALL)
PUBLISHED = FULL_PUBLISHED.model_copy(update=SMALL)
MINIMAL = MINIMAL_PUBLISHED

GRID: dict[str, ModelConfig] = {
    "minimal": MINIMAL,
    "minimal, unscaled": MINIMAL.model_copy(update={"score_scale": "none"}),
    "minimal, one head": MINIMAL.model_copy(update={"heads": 1}),
    "minimal, 16 heads": MINIMAL.model_copy(update={"heads": 16}),
    "minimal, product score": MINIMAL.model_copy(update={"score": "product", "score_scale": "head"}),
    "minimal, biases": MINIMAL.model_copy(update={"score": "product", "attention_bias": "on", "output": "on"}),
    "minimal, bias without output": MINIMAL.model_copy(update={"score": "product", "attention_bias": "on"}),
    "minimal, residual": MINIMAL.model_copy(update={"residual": "on"}),
    "minimal, norm": MINIMAL.model_copy(update={"norm": "post"}),
    "minimal, mlp": MINIMAL.model_copy(update={"mlp": 7}),
    "minimal, mlp and residual": MINIMAL.model_copy(update={"mlp": 7, "residual": "on"}),
    "minimal, output": MINIMAL.model_copy(update={"output": "on"}),
    "minimal, unembedding": MINIMAL.model_copy(update={"unembedding": "learned", "unembedding_bias": "on"}),
    "minimal, dropout": MINIMAL.model_copy(update={"dropout": EVERYWHERE}),
    "minimal, context": MINIMAL.model_copy(update={"context": 3}),
    "minimal, window": MINIMAL.model_copy(update={"window": 4}),
    "minimal, learned positions": MINIMAL.model_copy(update={"positions": "learned"}),
    "minimal, relative": MINIMAL.model_copy(update={"positions": "relative"}),
    "text": TEXT.model_copy(update={"dropout": EVERYWHERE}),
    "text, no dropout": TEXT.model_copy(update={"dropout": DropoutConfig()}),
    "text, one head": TEXT.model_copy(update={"heads": 1}),
    "text, sinusoidal": TEXT.model_copy(update={"positions": "sinusoidal"}),
    "text, relative": TEXT.model_copy(update={"positions": "relative"}),
    "text, one-hot positions": TEXT.model_copy(update={"positions": "one_hot"}),
    "text, no residual": TEXT.model_copy(update={"residual": "off"}),
    "text, no norm": TEXT.model_copy(update={"norm": "none"}),
    "text, no mlp": TEXT.model_copy(update={"mlp": 0}),
    "text, no output": TEXT.model_copy(update={"output": "off"}),
    "text, merged": TEXT.model_copy(update={"score": "merged", "attention_bias": "off"}),
    "text, context": TEXT.model_copy(update={"context": 4}),
    "text, window": TEXT.model_copy(update={"window": 5}),
    "text, window and context": TEXT.model_copy(update={"window": 5, "context": 2}),
    "published": PUBLISHED,
    "published, no residual": PUBLISHED.model_copy(update={"residual": "off"}),
    "published, biases": PUBLISHED.model_copy(update={"attention_bias": "on"}),
    "published, window": PUBLISHED.model_copy(update={"window": 5}),
    "published, context": PUBLISHED.model_copy(update={"context": 5}),
    "published, no output": PUBLISHED.model_copy(update={"output": "off"}),
    "published, merged": PUBLISHED.model_copy(update={"score": "merged"}),
    "published, relative": PUBLISHED.model_copy(update={"positions": "relative"}),
}


def random_decoder(config: ModelConfig, *, dictionary: int = 7, positions: int = 9, seed: int = 0) -> Decoder:
    """A float64 decoder none of whose parameters is special: every bias and norm away from where it starts."""
    config = ModelConfig.model_validate(config.model_dump())
    decoder = Decoder(config, dictionary=dictionary, positions=config.window or positions).double()
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=rng, dtype=torch.float64) * 0.4)
    return decoder


def random_batch(decoder: Decoder, rows: int, *, counted: int = 4, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens and targets in the shape of the decoder's view."""
    rng = torch.Generator().manual_seed(seed)
    inputs = torch.randint(decoder.dictionary, (rows, decoder.positions), generator=rng)
    counted = 1 if decoder.config.window is not None else counted
    return inputs, torch.randint(decoder.dictionary, (rows, counted), generator=rng)


def gradient(decoder: Decoder) -> torch.Tensor:
    """Every parameter's gradient as one float64 vector."""
    return torch.cat([p.grad.double().flatten() for p in decoder.parameters() if p.grad is not None])
