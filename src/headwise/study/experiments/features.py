"""The feature matrices of each reading (§2.1)."""

from __future__ import annotations

from headwise.study.config import Preset


def features_of(preset: Preset) -> str:
    """As published the one task behind the figures, for every seed; otherwise Haar matrices drawn by the seed."""
    return "figures" if preset == "published" else "haar"
