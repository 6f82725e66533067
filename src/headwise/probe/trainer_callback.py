"""A watch inside a Hugging Face Trainer, with the loss of every step.

The Trainer hands no loss to its callbacks but the mean it logs, on its own schedule. So a hook on the model takes the
loss it returns in training mode: summed over the batches of a step where the Trainer has scaled them by the number of
their tokens, their mean otherwise. Where the model returns none (a loss function of the user's own, label smoothing),
the logged means stand in, each once and dated at the middle of its steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from headwise.core.extras import require_library
from headwise.probe.torch_model import unwrapped

if TYPE_CHECKING:
    from headwise.probe.live import Watch

SCALED = "num_items_in_batch"
"""The argument by which the Trainer tells a model how many tokens all batches of a step have together."""


def trainer_callback(watch: Watch) -> Any:
    """A `TrainerCallback` whose steps are the trainer's own, also when it resumes."""
    transformers = require_library("transformers")

    class WatchCallback(transformers.TrainerCallback):  # type: ignore[misc, name-defined]
        """Begins with the training, looks at the end of a step, ends with the training."""

        def __init__(self) -> None:
            self.losses = StepLosses()
            self.logged = 0

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.logged = int(state.global_step)
            watch.begin(self.logged)
            self.losses.listen(kwargs.get("model", watch.model))

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            watch.step(self.losses.take())

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            step = int(state.global_step)
            if logs and "loss" in logs and step > self.logged:
                if not self.losses.found:
                    watch.mean_loss(float(logs["loss"]), steps=step - self.logged, last=step)
                self.logged = step

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.losses.stop()
            watch.end()

    return WatchCallback()


class StepLosses:
    """The losses that a model returns in training mode, added up by step; never read."""

    def __init__(self) -> None:
        self.found = False
        self._parts: list[Tensor] = []
        self._scaled = False
        self._handle: Any = None

    def listen(self, model: Any) -> None:
        """Put the hook on the model, once."""
        self.stop()
        inner = unwrapped(model)
        if isinstance(inner, nn.Module):
            self._handle = inner.register_forward_hook(self._after, with_kwargs=True)

    def stop(self) -> None:
        """Take the hook off."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def take(self) -> Tensor | None:
        """The loss of the step that has ended; `None` where the model returned none."""
        parts, self._parts = self._parts, []
        if not parts:
            return None
        self.found = True
        total = sum(parts[1:], parts[0])
        return total if self._scaled else total / len(parts)

    def _after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        loss = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
        if module.training and isinstance(loss, Tensor):
            self._parts.append(loss.detach().mean())
            self._scaled = kwargs.get(SCALED) is not None
