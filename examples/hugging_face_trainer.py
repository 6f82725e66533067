"""A Hugging Face Trainer, watched by a callback.

    python examples/hugging_face_trainer.py --out hugging_face_trainer

Every sentence is a random half said twice, so a model of two layers can learn to look for what followed the same word
before: an induction head. Half a minute on one free core, and nothing is downloaded.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

import headwise

WORDS, HALF = 24, 12


class SaidTwice(Dataset):
    """Sentences whose halves are the same; the place where the second one begins is always the same too."""

    def __init__(self, count: int) -> None:
        half = torch.randint(WORDS, (count, HALF), generator=torch.Generator().manual_seed(count))
        self.ids = torch.cat([half, half], dim=1)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.ids[index], "labels": self.ids[index]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("hugging_face_trainer"))
    options = parser.parse_args()

    torch.manual_seed(0)
    size = {"vocab_size": WORDS, "n_positions": 2 * HALF, "n_embd": 32, "n_layer": 2, "n_head": 2}
    model = GPT2LMHeadModel(GPT2Config(**size, bos_token_id=0, eos_token_id=0))
    w = headwise.watch(model, tokens=SaidTwice(32).ids, every=10)
    settings = TrainingArguments(
        output_dir=str(options.out / "trainer"),
        max_steps=options.steps,
        per_device_train_batch_size=32,
        learning_rate=5e-3,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    Trainer(model, settings, train_dataset=SaidTwice(4096), callbacks=[w.callback()]).train()
    print(w)
    print(w.report())
    w.page(options.out / "heads.html")


if __name__ == "__main__":
    main()
