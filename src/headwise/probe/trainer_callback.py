"""A watch inside a Hugging Face Trainer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from headwise.probe.optional import require

if TYPE_CHECKING:
    from headwise.probe.live import Watch


def trainer_callback(watch: Watch) -> Any:
    """A `TrainerCallback` whose steps are the trainer's own, also when it resumes."""
    transformers = require("transformers", extra="probe")

    class WatchCallback(transformers.TrainerCallback):  # type: ignore[misc, name-defined]
        """Begins with the training, looks at the end of a step, ends with the training."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            watch.begin(int(state.global_step))

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            watch.step(_latest_loss(state))

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            watch.end()

    return WatchCallback()


def _latest_loss(state: Any) -> float:
    """The last loss the trainer logged; it logs on its own schedule."""
    return next((float(entry["loss"]) for entry in reversed(state.log_history) if "loss" in entry), math.nan)
