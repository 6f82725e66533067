"""The roles, in the order in which records name them. A new one is one file here that defines `ROLE`, and its name in
`MODULES`; `class:NAME` for each of a user's token classes comes after them.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence

from headwise.core.errors import ConfigError
from headwise.probe.role import Role
from headwise.probe.roles.token_class import token_class

MODULES = (
    "self",
    "previous",
    "first",
    "window",
    "induction",
    "duplicate",
    "diffuse",
)


def all_roles(classes: Mapping[str, Sequence[int]] | None = None) -> tuple[Role, ...]:
    """Every role, and one for each class of tokens."""
    if classes is not None and not isinstance(classes, Mapping):
        raise ConfigError(f"classes = {classes!r} must be names with token ids, such as {{'newline': [10]}}")
    found = [importlib.import_module(f"{__name__}.{name}").ROLE for name in MODULES]
    return (*found, *(token_class(name, ids) for name, ids in (classes or {}).items()))
