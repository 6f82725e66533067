"""Which runs belong together: seeds of one config are one study, and studies of other configs stand beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwise.core.branch_words import done_in
from headwise.core.errors import ConfigError
from headwise.core.keys import flatten
from headwise.core.trajectory import attribute
from headwise.core.variables import DIMENSIONS
from headwise.view.report.members import Member

MOST_STUDIES = 4
APART_FROM = ("seed", "compute", "branch.parent")
"""Config keys, or sections, that do not make another experiment; branches of several seeds leave a run each."""
OF_A_TASK = ("groups", "alpha")
"""What a trajectory without a config still says about its task."""


@dataclass(frozen=True)
class Study:
    """One run, or several seeds of one config."""

    label: str
    members: tuple[Member, ...]

    @property
    def seeds(self) -> tuple[int | str, ...]:
        """The seed of each member; its place where the seed is not known."""
        return tuple(place if member.seed is None else member.seed for place, member in enumerate(self.members))


def arrange(members: Sequence[Member]) -> list[Study]:
    """Members of equal config and shape are one study; studies come in the order in which they were given."""
    if not members:
        raise ConfigError("a page needs at least one run")
    grouped: dict[str, list[Member]] = {}
    for number, member in enumerate(members):
        # Without a config nothing says that two trajectories are seeds of one experiment, unless both name a seed.
        known = bool(member.config) or member.seed is not None
        identity = _identity(member) if known else f"{number}"
        if not member.config and any(member.seed == other.seed for other in grouped.get(identity, ())):
            identity += f" {number}"  # the same seed twice is another experiment, whatever its settings were
        grouped.setdefault(identity, []).append(member)
    if len(grouped) > MOST_STUDIES:
        raise ConfigError(
            f"{len(grouped)} different configs do not fit on one page; give at most {MOST_STUDIES} (seeds do not count)"
        )
    groups = list(grouped.values())
    labels = _labels([group[0] for group in groups])
    return [Study(label, tuple(group)) for label, group in zip(labels, groups, strict=True)]


def differing_keys(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Dotted keys that differ between the configs that are known, but for seeds and the machine's settings."""
    flat = [_compared(config) for config in configs if config]
    keys = list(dict.fromkeys(key for one in flat for key in one))
    return [key for key in keys if any(one.get(key) != flat[0].get(key) for one in flat[1:])]


def kind_of(member: Member) -> str:
    """What a person calls this run: its label, or what it is of."""
    if member.called:
        return member.called
    experiment = member.config.get("experiment") or attribute(member.trajectory, "experiment")
    preset = member.config.get("preset") or attribute(member.trajectory, "preset")
    source = attribute(member.trajectory, "source")
    branch = attribute(member.trajectory, "branch")
    if isinstance(branch, dict):
        return f"branch at step {branch['step']}: {done_in(branch)}"
    if member.is_trained_here:
        own = attribute(member.trajectory, "own")
        parts = (attribute(member.trajectory, "model") or own["model"], own.get("task") or experiment)
        return " · ".join(str(part) for part in parts if part)
    known = [str(part) for part in (experiment, preset) if part]
    if known:
        return " · ".join(known)
    if member.is_foreign:
        return foreign_name(member)
    return "regression flow" if source == "flow" else member.label or str(source or "trajectory")


def foreign_name(member: Member) -> str:
    """Somebody's own model: its class, and the label it was saved under or the folder of its checkpoints."""
    folder = member.config.get("source")
    beside = member.config.get("label") or (folder if folder != "watch" else None)
    if not member.config and member.label != "trajectory":
        beside = member.label
    return " · ".join(str(part) for part in (attribute(member.trajectory, "model"), beside) if part)


def _labels(members: Sequence[Member]) -> list[str]:
    """Names that tell studies apart: what kind of run, and the first settings in which they differ."""
    kinds = [kind_of(member) for member in members]
    if len(set(kinds)) == len(kinds):
        return kinds
    keys = [key for key in differing_keys([m.config for m in members]) if key not in ("experiment", "preset")][:3]
    flat = [flatten(member.config) for member in members]
    labels = [
        ", ".join([kind, *(f"{key.rpartition('.')[2]} = {one.get(key)}" for key in keys)])
        for kind, one in zip(kinds, flat, strict=True)
    ]
    if len(set(labels)) == len(labels):
        return labels
    named = [f"{label} ({member.label})" for label, member in zip(labels, members, strict=True)]
    if len(set(named)) == len(named):
        return named
    return [f"{label} ({number})" for number, label in enumerate(labels, start=1)]


def _compared(config: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys that make an experiment what it is."""
    flat = flatten(config)
    return {k: v for k, v in flat.items() if not any(k == one or k.startswith(f"{one}.") for one in APART_FROM)}


def _identity(member: Member) -> str:
    shape = {dim: member.trajectory.sizes.get(dim) for dim, row in DIMENSIONS.items() if row.entries != "times"}
    names = sorted(str(name) for name in member.trajectory.data_vars)
    task = [] if member.config else [attribute(member.trajectory, key) for key in OF_A_TASK]
    settings = sorted(_compared(member.config).items(), key=lambda item: item[0])
    return repr((settings, shape, names, kind_of(member), task))
