"""Small checkpoints of somebody else's model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def save_checkpoints(folder: Path, steps: Sequence[int]) -> None:
    """Checkpoints of a GPT-2 of a few hundred weights, each different."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    generator = torch.Generator().manual_seed(0)
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            n_embd=8, n_layer=1, n_head=2, vocab_size=20, n_positions=16, bos_token_id=0, eos_token_id=0
        )
    )
    for step in steps:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
        model.save_pretrained(folder / f"checkpoint-{step}")
