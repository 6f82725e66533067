"""`Tracker`: what a hook of `watch` and `train` needs to send every look to an experiment tracker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, get_args

from headwise.core.errors import ConfigError
from headwise.core.keys import nearest_key
from headwise.core.look import Look
from headwise.core.variables import VARIABLES
from headwise.track.trackers import BACKENDS, Backend

TrackedBy = Literal["trackio", "wandb", "tensorboard", "mlflow"]


class Tracker:
    """Sends the numbers of each look to an experiment tracker: `on_look=Tracker("tensorboard")`.

    It begins at the first look and ends with `close`, or with the `with` that it stands in. `folder` is where what is
    local goes, `project` and `name` what the tracker calls the run, `variables` the trajectory variables to send
    instead of all that `Look.numbers` names. Nothing leaves the machine unless the tracker itself is configured so:
    wandb is offline without WANDB_MODE and without a run that is active, MLflow writes files without
    MLFLOW_TRACKING_URI.

    >>> from headwise import Tracker
    >>> Tracker("tensorbord")
    Traceback (most recent call last):
    headwise.core.errors.ConfigError: Tracker: 'tensorbord' is unknown; did you mean tensorboard?
    """

    def __init__(
        self,
        to: TrackedBy,
        *,
        folder: Path | str = "tracked",
        project: str = "headwise",
        name: str = "run",
        variables: Sequence[str] | None = None,
    ) -> None:
        if to not in BACKENDS:
            raise ConfigError(
                f"Tracker: {to!r} is unknown{nearest_key(str(to), BACKENDS) or '; one of ' + ', '.join(BACKENDS)}"
            )
        for variable in variables or ():
            if variable not in VARIABLES:
                raise ConfigError(f"Tracker: variable {variable!r} is unknown{nearest_key(variable, VARIABLES)}")
        self.to, self.folder, self.project, self.name, self.variables = to, Path(folder), project, name, variables
        self._backend: Backend | None = None

    def __call__(self, look: Look) -> None:
        """Send one look."""
        self.log(look.step, look.numbers(variables=self.variables))

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        """Send numbers of a step, by name."""
        if self._backend is None:
            self._backend = BACKENDS[self.to](folder=self.folder, project=self.project, name=self.name)
        self._backend.log(step, numbers)

    def close(self) -> None:
        """End the run at the tracker; a run that its user began there goes on."""
        if self._backend is not None:
            self._backend.close()
            self._backend = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


assert set(get_args(TrackedBy)) == set(BACKENDS)
