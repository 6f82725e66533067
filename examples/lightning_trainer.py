"""A Lightning Trainer, watched by a callback.

    pip install '.[lightning,probe]'    # in a clone of the repository
    python examples/lightning_trainer.py --out lightning_trainer

The words of each sentence go round in a circle of its own, of three to six words. Half a minute on one free core.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import lightning
import torch
from torch import Tensor
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel

import headwise

WORDS, LENGTH = 24, 24


class Reader(lightning.LightningModule):
    """A GPT-2 from its config."""

    def __init__(self) -> None:
        super().__init__()
        size = {"vocab_size": WORDS, "n_positions": LENGTH, "n_embd": 32, "n_layer": 2, "n_head": 2}
        self.model = GPT2LMHeadModel(GPT2Config(**size, bos_token_id=0, eos_token_id=0))

    def training_step(self, ids: Tensor, index: int) -> Tensor:
        return self.model(input_ids=ids, labels=ids).loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=5e-3)


def circles(count: int) -> Tensor:
    """Sentences, (count, LENGTH)."""
    around = torch.randint(3, 7, (count, 1))
    words = torch.randint(WORDS, (count, 6))
    return words.gather(1, torch.arange(LENGTH) % around)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("lightning_trainer"))
    options = parser.parse_args()

    lightning.seed_everything(0, verbose=False)
    reader = Reader()
    w = headwise.watch(reader.model, tokens=circles(32), every=10)
    trainer = lightning.Trainer(
        max_steps=options.steps,
        accelerator="cpu",
        callbacks=[w.callback("lightning")],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(reader, DataLoader(circles(32 * options.steps), batch_size=32))
    print(w)
    print(w.report())
    options.out.mkdir(parents=True, exist_ok=True)
    w.page(options.out / "heads.html")


if __name__ == "__main__":
    main()
