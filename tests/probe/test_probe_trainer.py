"""A watch inside a Hugging Face Trainer: its steps are the trainer's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from headwise.probe import watch

transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")


class Sequences(torch.utils.data.Dataset):
    def __init__(self) -> None:
        self.tokens = torch.randint(0, 20, (64, 8), generator=torch.Generator().manual_seed(0))

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


def trained(folder: Path, *, watched: bool) -> tuple[dict[str, torch.Tensor], object]:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_embd=8, n_layer=1, n_head=2, vocab_size=20, n_positions=16, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config)
    w = watch(model, tokens=Sequences().tokens[:4], every=4)
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        max_steps=10,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=2,
        logging_steps=2,
        report_to="none",
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = transformers.Trainer(
        model=model, args=arguments, train_dataset=Sequences(), callbacks=[w.callback()] if watched else []
    )
    trainer.train()
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}, w


def test_callback_counts_optimiser_steps_and_changes_nothing(tmp_path: Path) -> None:
    weights, w = trained(tmp_path, watched=True)
    found = w.trajectory
    assert found["step"].values.tolist() == [0, 4, 8, 10]
    assert np.isfinite(found["loss"].values[1:3]).all()
    plain, _ = trained(tmp_path, watched=False)
    assert all(torch.equal(tensor, plain[name]) for name, tensor in weights.items())
