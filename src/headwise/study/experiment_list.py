"""What experiments there are and what each should reach: the docstrings of the functions that return their configs."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, get_args

from headwise.core.named_options import named_options
from headwise.core.text import definitions
from headwise.study.config import Preset
from headwise.study.experiments import EXPERIMENTS


@dataclass(frozen=True)
class ExperimentList:
    """Every experiment's name with what is known about it; `str` of this is what `headwise list` prints."""

    about: dict[str, str]

    def to_json(self) -> list[dict[str, Any]]:
        """`name`, `presets` and `about` of each experiment, ready for JSON."""
        presets = list(get_args(Preset))
        return [{"name": name, "presets": presets, "about": text} for name, text in self.about.items()]

    def __str__(self) -> str:
        return definitions(list(self.about.items()), indent=0, most=16)


@named_options
def list_experiments() -> ExperimentList:
    """The experiments that `experiment` and `headwise train` know.

    >>> from headwise import list_experiments
    >>> print(list_experiments().about["no-mlp"])
    The full decoder without its MLP.
    """
    return ExperimentList({name: inspect.getdoc(build) or "" for name, build in EXPERIMENTS.items()})
