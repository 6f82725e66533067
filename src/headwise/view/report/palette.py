"""The colours of `core.palette` on the page, and their brighter twins for a dark background."""

from __future__ import annotations

from headwise.core.palette import GROUPS, HEADS

HEADS_ON_DARK = ("#4AA8E8", "#F2B138", "#1FC796", "#E59AC4", "#A5DBFF", "#FF7F3F", "#F5EC6B", "#F4F4F4")
"""Head 1, 2, 3, ... in the order of `HEADS`: same hue, lighter."""

GROUPS_ON_DARK = ("#9B8CFF", "#E58BE0", "#6FD08C", "#E8DA8C", "#A6DDF5", "#E06C9F")
"""Group or predictor 1, 2, 3, ... in the order of `GROUPS`."""

DASHES: tuple[tuple[int, ...], ...] = ((), (7, 4), (9, 3, 2, 3), (2, 3), (6, 2, 2, 2, 2, 2), (2, 6))
"""Line styles of groups, in the order of `view.style.LINES`, in pixels."""

PALETTE = {
    "heads": {"light": list(HEADS), "dark": list(HEADS_ON_DARK)},
    "groups": {"light": list(GROUPS), "dark": list(GROUPS_ON_DARK)},
    "dashes": [list(dash) for dash in DASHES],
}
