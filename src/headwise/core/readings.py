"""The readings of the paper by name, and which of them a stored run belongs to.

`published` is the task behind the figures. A run with the settings of the figures on any other task, drawn by its seed
or given, is `redrawn`: what it is called follows from its task, not from the label that was stored with it, so a run
from before that task was known is shown as what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Preset = Literal["published", "redrawn", "text"]

OF_THE_FIGURES = ("figures", "figures-frobenius")
"""Values of `task.features` that stand for the task behind the figures."""


def reading_of(label: str, features: object) -> str:
    """What a run is called whose stored label and whose features are these.

    >>> reading_of("published", "haar"), reading_of("published", "figures"), reading_of("text", "haar")
    ('redrawn', 'published', 'text')
    """
    if label not in ("published", "redrawn"):
        return label
    return "published" if features in OF_THE_FIGURES else "redrawn"


def reading_in(config: Mapping[str, Any]) -> str | None:
    """The reading of a stored config; its label where it does not say its features, `None` where it has neither."""
    label, task = config.get("preset"), config.get("task")
    if not isinstance(label, str):
        return None
    return reading_of(label, task["features"]) if isinstance(task, Mapping) and "features" in task else label


def with_reading(config: Mapping[str, Any]) -> dict[str, Any]:
    """A stored config, to be shown: its label is the reading that it belongs to."""
    reading = reading_in(config)
    return dict(config) if reading is None else {**config, "preset": reading}
