"""A watch inside a Lightning Trainer: its steps and losses are the trainer's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import headwise
from headwise.core.errors import ConfigError

lightning = pytest.importorskip("lightning")


class Module(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, nhead=2, dropout=0.0, batch_first=True)
        self.losses: list[float] = []

    def training_step(self, batch: Tensor, index: int) -> Tensor:
        loss = self.layer(batch).pow(2).mean()
        self.losses.append(float(loss))
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def data() -> Tensor:
    return torch.randn(24, 6, 8, generator=torch.Generator().manual_seed(0))


def trained(folder: Path, *, watched: bool = True, steps: int = 5, resume: Path | None = None, parts: int = 2):
    torch.manual_seed(0)
    module = Module()
    w = headwise.watch(module.layer, tokens=data()[:4], every=2)
    trainer = lightning.Trainer(
        max_steps=steps,
        accumulate_grad_batches=parts,
        accelerator="cpu",
        callbacks=[w.callback("lightning")] if watched else [],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    trainer.fit(module, torch.utils.data.DataLoader(data(), batch_size=2), ckpt_path=resume)
    return trainer, module, w


def test_steps_and_losses_are_the_trainers(tmp_path: Path) -> None:
    """Two batches a step: the loss of a step is the mean of theirs, and a look has the mean of its steps."""
    _, module, w = trained(tmp_path)
    found = w.trajectory
    assert found["step"].values.tolist() == [0, 2, 4, 5]
    each = np.array(module.losses).reshape(5, 2).mean(axis=1)
    expected = [each[:2].mean(), each[2:4].mean(), each[4]]
    np.testing.assert_allclose(found["loss"].sel(split="train").values[1:], expected, rtol=1e-6)


def test_watching_changes_nothing(tmp_path: Path) -> None:
    _, watched, _ = trained(tmp_path)
    _, plain, _ = trained(tmp_path, watched=False)
    for name, tensor in watched.state_dict().items():
        assert torch.equal(tensor, plain.state_dict()[name])


def test_a_resumed_training_goes_on_counting(tmp_path: Path) -> None:
    trainer, _, _ = trained(tmp_path, steps=3)
    trainer.save_checkpoint(tmp_path / "three.ckpt")
    _, _, w = trained(tmp_path, steps=7, resume=tmp_path / "three.ckpt")
    assert w.trajectory["step"].values.tolist() == [3, 4, 6, 7]


def test_another_library_is_one_sentence() -> None:
    w = headwise.watch(Module().layer, tokens=data()[:4])
    with pytest.raises(ConfigError, match="library = 'keras' must be 'transformers' or 'lightning'"):
        w.callback("keras")
