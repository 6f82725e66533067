"""The settings behind a verdict or a figure, as digits: a reading that changes makes both of them fall."""

from __future__ import annotations

from collections.abc import Callable

from headwise.core.config import Config, content_hash
from headwise.paper import flows
from headwise.paper.entry import Entry
from headwise.paper.scale import Scale
from headwise.study.config import Preset, scientific_content
from headwise.study.experiments import experiment

KEY = "settings"
"""Its name in the files of verdicts and figures."""

WITHOUT_RUNS: dict[str, Callable[[Preset], Config] | None] = {
    **dict.fromkeys(("flow-stages", "flow-compensation"), flows.flow_config),
    **dict.fromkeys(("flow-competition", "flow-decay", "flow-exchange", "flow-values-first"), flows.flow_config),
    **dict.fromkeys(("fig-simulations", "table-levels-flow"), flows.flow_config),
    "flow-theory": lambda preset: flows.OVERLAID,
    "fig-theory": flows.drawn_under_theory,
    "representation": lambda preset: experiment("minimal", preset).task,
    "symmetry": None,
    "theorems": None,
}
"""What an entry that trains nothing computes with; `None` where all of it is in its test."""


def settings_of(entry: Entry, preset: Preset, scale: Scale) -> str:
    """Digits that name all that an entry depends on but seeds; nothing where it depends on nothing more."""
    content = {name: scientific_content(one) for name, one in entry.configs(preset, scale, 0).items()}
    besides = WITHOUT_RUNS.get(entry.name)
    if besides is not None:
        content["besides"] = besides(preset).model_dump(mode="json")
    return content_hash(content)[:16] if content else ""
