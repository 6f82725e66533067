"""At which steps a run is looked at: geometric at first, even later, and the last."""

from __future__ import annotations

GROWTH = 1.25
EVEN = 56


def look_steps(steps: int) -> list[int]:
    """About seventy steps, from 0 to `steps`."""
    spacing = max(1, steps // EVEN)
    chosen, early = set(range(0, steps + 1, spacing)) | {steps}, 1.0
    while early < 2 * spacing and early <= steps:
        chosen.add(int(early))
        early = max(early + 1, early * GROWTH)
    return sorted(chosen)
