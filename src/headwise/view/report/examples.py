"""What the tokens of kept sequences are called on a page: their text, their ids, or else their positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwise.core.readable import readable
from headwise.core.trajectory import attribute

if TYPE_CHECKING:
    import xarray as xr

LONGEST = 40
"""Characters of a token that a page holds."""


def example_labels(trajectory: xr.Dataset) -> list[dict[str, Any]]:
    """For each kept sequence `sequence`, its number in the batch, and `tokens`, one label for each kept position.

    The labels come from a file that anybody may have written, so they are text and nothing else, and where they do not
    fit the maps the positions stand in.
    """
    if "example_attention" not in trajectory:
        return []
    sizes = trajectory["example_attention"].sizes
    found = attribute(trajectory, "examples")
    described = found if isinstance(found, list) else []
    return [
        _labels(described[n] if n < len(described) else None, number=n + 1, length=sizes["query"])
        for n in range(sizes["example"])
    ]


def _labels(about: Any, *, number: int, length: int) -> dict[str, Any]:
    known = about if isinstance(about, dict) else {}
    given = next((known[key] for key in ("tokens", "ids") if isinstance(known.get(key), list)), None)
    sequence = known.get("sequence")
    return {
        "sequence": sequence if isinstance(sequence, int) else number,
        "tokens": [readable(str(label))[:LONGEST] for label in (range(1, length + 1) if given is None else given)][
            :length
        ],
    }
