"""The settings of the runs behind a verdict or a figure, as digits: a reading that changes makes both of them fall."""

from __future__ import annotations

from headwise.core.config import content_hash
from headwise.paper.entry import Entry
from headwise.paper.scale import Scale
from headwise.study.config import Preset, scientific_content

KEY = "settings"
"""Its name in the files of verdicts and figures."""


def settings_of(entry: Entry, preset: Preset, scale: Scale) -> str:
    """Digits that name all that the runs of an entry depend on but their seeds; nothing where it trains none."""
    configs = entry.configs(preset, scale, 0)
    return content_hash({name: scientific_content(one) for name, one in configs.items()})[:16] if configs else ""
