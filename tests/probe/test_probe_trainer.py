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
    assert np.isfinite(found["loss"].sel(split="train").values[1:]).all()
    plain, _ = trained(tmp_path, watched=False)
    assert all(torch.equal(tensor, plain[name]) for name, tensor in weights.items())


def losses_seen(folder: Path, **settings: object) -> tuple[object, object]:
    """A short training that logs every step or hardly ever, watched every third step; its log and its trajectory."""
    arguments: dict[str, object] = {
        "max_steps": 12,
        "per_device_train_batch_size": 8,
        "report_to": "none",
        "save_strategy": "no",
        "use_cpu": True,
        "disable_tqdm": True,
        **settings,
    }
    loss = arguments.pop("loss", None)
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_embd=8, n_layer=1, n_head=2, vocab_size=20, n_positions=16, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config)
    w = watch(model, tokens=Sequences().tokens[:4], every=3)
    trainer = transformers.Trainer(
        model=model,
        args=transformers.TrainingArguments(output_dir=str(folder), **arguments),
        train_dataset=Sequences(),
        callbacks=[w.callback()],
        compute_loss_func=loss,
    )
    trainer.train()
    assert not model._forward_hooks
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry], w.trajectory.sel(split="train")


@pytest.mark.parametrize("accumulated", [1, 2])
@pytest.mark.parametrize("length_varies", [False, True])
def test_losses_are_those_of_every_step_however_rarely_the_trainer_logs(
    tmp_path: Path, accumulated: int, length_varies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the trainer's own log of every step, which it computes from the losses it sums on its device."""
    if length_varies:  # batches of one step then weigh differently
        plain = Sequences.__getitem__

        def cut(self: Sequences, index: int) -> dict[str, torch.Tensor]:
            labels = self.tokens[index].clone()
            labels[: index % 6] = -100
            return {**plain(self, index), "labels": labels}

        monkeypatch.setattr(Sequences, "__getitem__", cut)
    logged, _ = losses_seen(tmp_path, logging_steps=1, gradient_accumulation_steps=accumulated)
    assert len(logged) == 12
    _, found = losses_seen(tmp_path, logging_steps=300, gradient_accumulation_steps=accumulated)
    means = np.array(logged).reshape(4, 3).mean(1)
    assert found["loss"].values[1:] == pytest.approx(means, abs=2e-4), "the log is rounded"
    assert len(set(found["loss"].values[1:].tolist())) == 4, "nothing is repeated"
    assert found["loss_time"].values[1:].tolist() == [1.5, 4.5, 7.5, 10.5]
    assert found["loss_count"].values[1:].tolist() == [3, 3, 3, 3]


def test_a_loss_function_of_the_users_own_is_read_from_the_log_each_mean_once(tmp_path: Path) -> None:
    def loss(outputs: object, labels: torch.Tensor, num_items_in_batch: object = None) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(outputs.logits[:, 0], labels[:, 1])

    logged, found = losses_seen(tmp_path, logging_steps=5, loss=loss)
    finite = np.isfinite(found["loss"].values)
    assert found["step"].values[finite].tolist() == [6, 12]
    assert found["loss"].values[finite] == pytest.approx(logged[:2], abs=1e-6)
    assert found["loss_time"].values[finite].tolist() == [2.5, 7.5]
    assert found["loss_count"].values[finite].tolist() == [5, 5]
