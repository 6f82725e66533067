"""A watch inside a Lightning Trainer, with the loss of every optimiser step.

Lightning tells its callbacks the loss of each batch, already divided by the number of batches of a step where gradients
are accumulated, so the sum over these batches is the loss of the step. A step is counted when the trainer's own counter
moves. With manual optimisation, where `training_step` returns no loss, the training loss is left out.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor

from headwise.core.extras import require_library

if TYPE_CHECKING:
    from headwise.probe.live import Watch

NAMES = ("lightning.pytorch", "pytorch_lightning")
"""The two packages under which Lightning is known; a Trainer takes callbacks of its own package only."""


def lightning_callback(watch: Watch) -> Any:
    """A `Callback` whose steps are the trainer's own, also when it resumes."""
    named = next((name for name in NAMES if name in sys.modules), NAMES[0])
    lightning = require_library(named)

    class WatchCallback(lightning.Callback):  # type: ignore[misc, name-defined]
        """Begins with the training, looks at the end of a step, ends with the training."""

        def __init__(self) -> None:
            self.losses: list[Tensor] = []
            self.counted = 0

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            self.counted = int(trainer.global_step)
            watch.begin(self.counted)

        def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
            if isinstance(loss, Tensor):
                self.losses.append(loss.detach().mean())
            while self.counted < int(trainer.global_step):
                watch.step(sum(self.losses[1:], self.losses[0]) if self.losses else None)
                self.counted, self.losses = self.counted + 1, []

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            watch.end()

    return WatchCallback()
