"""What is special about runs of format 1, which have no version in their files and are never begun any more.

Their segments and checkpoints do not say which run they belong to, and a segment names the one before it by its end
alone. What names such a run is worked out from its config.json, as it was when those runs were stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwise.store.identity import RunIdentity

HASH_DIGITS = 8


def identity_in_format_1(config: Mapping[str, Any], attributes: Mapping[str, Any]) -> RunIdentity:
    """What a run's results depend on, from the config and the attributes it stored."""
    if "experiment" not in config:
        return RunIdentity(dict(config), int(config.get("seed", attributes.get("seed", 0))))
    content = {key: value for key, value in config.items() if key not in ("experiment", "preset", "seed", "compute")}
    content["measure"] = {
        key: value for key, value in content["measure"].items() if key != "window_samples" or value is not None
    }
    if config["compute"]["dtype"] != "float32":
        content["dtype"] = config["compute"]["dtype"]
    return RunIdentity(content, int(config["seed"]))


def named_by_content(content: Mapping[str, Any]) -> bool:
    """Whether the name of a run of format 1 can be worked out; a probe's was also made from its folder's place."""
    return "source" not in content


def not_promised(*, over: bool) -> tuple[str, ...]:
    """What `headwise verify` cannot find in a run of format 1; the manifest of one that is over has every digest."""
    if over:
        return ("a manifest that was edited together with its digest is not found",)
    return (
        "segments and checkpoints do not say which run they belong to, so exchanged ones are not found",
        "the order of segments rests on their names, not on digests",
        "config.json and coordinates.json are not tied to each other",
    )
