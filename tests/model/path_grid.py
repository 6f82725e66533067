"""The models every fast path is held to: each component on and off, alone and together."""

from __future__ import annotations

import torch

from headwise.model.config import FULL_PUBLISHED, FULL_TEXT, MINIMAL_PUBLISHED, DropoutConfig, ModelConfig
from headwise.model.decoder import Decoder

SMALL = {"width": 12, "heads": 3, "mlp": 10}
EVERYWHERE = DropoutConfig(attention=0.2, attention_branch=0.3, mlp=0.25, mlp_branch=0.1)
TEXT = FULL_TEXT.changed(SMALL)
PUBLISHED = FULL_PUBLISHED.changed(SMALL)
MINIMAL = MINIMAL_PUBLISHED
WIDE = {"width": 150, "mlp": 70}
"""More columns than the kernel works on at a time, and not a whole number of times as many."""

GRID: dict[str, ModelConfig] = {
    "minimal": MINIMAL,
    "minimal, unscaled": MINIMAL.changed({"score_scale": "none"}),
    "minimal, one head": MINIMAL.changed({"heads": 1}),
    "minimal, 16 heads": MINIMAL.changed({"heads": 16}),
    "minimal, 7 heads": MINIMAL.changed({"heads": 7}),
    "minimal, product score": MINIMAL.changed({"score": "product", "score_scale": "head"}),
    "minimal, biases": MINIMAL.changed({"score": "product", "attention_bias": "on", "output": "on"}),
    "minimal, bias without output": MINIMAL.changed({"score": "product", "attention_bias": "on"}),
    "minimal, residual": MINIMAL.changed({"residual": "on"}),
    "minimal, norm": MINIMAL.changed({"norm": "post"}),
    "minimal, mlp": MINIMAL.changed({"mlp": 7}),
    "minimal, mlp and residual": MINIMAL.changed({"mlp": 7, "residual": "on"}),
    "minimal, output": MINIMAL.changed({"output": "on"}),
    "minimal, unembedding": MINIMAL.changed({"unembedding": "learned", "unembedding_bias": "on"}),
    "minimal, dropout": MINIMAL.changed({"dropout": EVERYWHERE}),
    "minimal, context": MINIMAL.changed({"context": 3}),
    "minimal, window": MINIMAL.changed({"window": 4}),
    "minimal, learned positions": MINIMAL.changed({"positions": "learned"}),
    "minimal, relative": MINIMAL.changed({"positions": "relative"}),
    "text": TEXT.changed({"dropout": EVERYWHERE}),
    "text, no dropout": TEXT.changed({"dropout": DropoutConfig()}),
    "text, one head": TEXT.changed({"heads": 1}),
    "text, sinusoidal": TEXT.changed({"positions": "sinusoidal"}),
    "text, relative": TEXT.changed({"positions": "relative"}),
    "text, one-hot positions": TEXT.changed({"positions": "one_hot"}),
    "text, no residual": TEXT.changed({"residual": "off"}),
    "text, no norm": TEXT.changed({"norm": "none"}),
    "text, no mlp": TEXT.changed({"mlp": 0}),
    "text, no output": TEXT.changed({"output": "off"}),
    "text, merged": TEXT.changed({"score": "merged", "attention_bias": "off"}),
    "text, context": TEXT.changed({"context": 4}),
    "text, window": TEXT.changed({"window": 5}),
    "text, window and context": TEXT.changed({"window": 5, "context": 2}),
    "published": PUBLISHED,
    "published, no residual": PUBLISHED.changed({"residual": "off"}),
    "published, biases": PUBLISHED.changed({"attention_bias": "on"}),
    "published, window": PUBLISHED.changed({"window": 5}),
    "published, context": PUBLISHED.changed({"context": 5}),
    "published, no output": PUBLISHED.changed({"output": "off"}),
    "published, merged": PUBLISHED.changed({"score": "merged"}),
    "published, wide": PUBLISHED.changed(WIDE),
    "text, wide": TEXT.changed({**WIDE, "dropout": EVERYWHERE}),
    "two published, wide": PUBLISHED.changed({**WIDE, "blocks": 2}),
    "pre, published, wide": PUBLISHED.changed({**WIDE, "norm": "pre"}),
    "published, relative": PUBLISHED.changed({"positions": "relative"}),
    "two minimal": MINIMAL.changed({"blocks": 2}),
    "two minimal, residual": MINIMAL.changed({"blocks": 2, "residual": "on"}),
    "two minimal, norm": MINIMAL.changed({"blocks": 2, "norm": "post", "residual": "on"}),
    "two minimal, norm without residual": MINIMAL.changed({"blocks": 2, "norm": "post"}),
    "two minimal, mlp": MINIMAL.changed({"blocks": 2, "mlp": 7, "residual": "on"}),
    "two minimal, dropout": MINIMAL.changed({"blocks": 2, "residual": "on", "dropout": EVERYWHERE}),
    "two minimal, product score": MINIMAL.changed({"blocks": 2, "score": "product", "output": "on"}),
    "two minimal, relative": MINIMAL.changed({"blocks": 2, "positions": "relative"}),
    "two minimal, context": MINIMAL.changed({"blocks": 2, "context": 3}),
    "two minimal, window": MINIMAL.changed({"blocks": 2, "window": 4, "residual": "on"}),
    "three text": TEXT.changed({"blocks": 3, "dropout": EVERYWHERE}),
    "two text, no residual": TEXT.changed({"blocks": 2, "residual": "off"}),
    "two text, no norm": TEXT.changed({"blocks": 2, "norm": "none"}),
    "two text, no mlp": TEXT.changed({"blocks": 2, "mlp": 0}),
    "two text, no output": TEXT.changed({"blocks": 2, "output": "off"}),
    "two text, merged": TEXT.changed({"blocks": 2, "score": "merged", "attention_bias": "off"}),
    "two text, relative": TEXT.changed({"blocks": 2, "positions": "relative"}),
    "two text, sinusoidal": TEXT.changed({"blocks": 2, "positions": "sinusoidal"}),
    "two text, one-hot positions": TEXT.changed({"blocks": 2, "positions": "one_hot"}),
    "two text, context": TEXT.changed({"blocks": 2, "context": 4}),
    "two text, window and context": TEXT.changed({"blocks": 2, "window": 5, "context": 2}),
    "two text, one head": TEXT.changed({"blocks": 2, "heads": 1}),
    "two published": PUBLISHED.changed({"blocks": 2}),
    "two published, biases": PUBLISHED.changed({"blocks": 2, "attention_bias": "on"}),
    "two published, merged": PUBLISHED.changed({"blocks": 2, "score": "merged"}),
    "two published, window": PUBLISHED.changed({"blocks": 2, "window": 5}),
    "pre": TEXT.changed({"norm": "pre", "dropout": EVERYWHERE}),
    "pre, no residual": TEXT.changed({"norm": "pre", "residual": "off"}),
    "pre, no mlp": TEXT.changed({"norm": "pre", "mlp": 0}),
    "pre, no output": TEXT.changed({"norm": "pre", "output": "off"}),
    "pre, merged": TEXT.changed({"norm": "pre", "score": "merged", "attention_bias": "off"}),
    "pre, relative": TEXT.changed({"norm": "pre", "positions": "relative"}),
    "pre, window": TEXT.changed({"norm": "pre", "window": 5}),
    "pre, minimal": MINIMAL.changed({"norm": "pre"}),
    "pre, minimal with residual": MINIMAL.changed({"norm": "pre", "residual": "on"}),
    "pre, published": PUBLISHED.changed({"norm": "pre"}),
    "pre, published, context": PUBLISHED.changed({"norm": "pre", "context": 5}),
    "pre, two blocks": TEXT.changed({"norm": "pre", "blocks": 2, "dropout": EVERYWHERE}),
    "pre, two blocks, no mlp": TEXT.changed({"norm": "pre", "blocks": 2, "mlp": 0}),
    "pre, two published": PUBLISHED.changed({"norm": "pre", "blocks": 2}),
    "pre, two minimal": MINIMAL.changed({"norm": "pre", "blocks": 2, "residual": "on"}),
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
