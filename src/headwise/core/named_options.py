"""A misspelt option of a function gets the sentence that a misspelt option of a command gets."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from headwise.core.errors import ConfigError
from headwise.core.keys import nearest_key

P = ParamSpec("P")
R = TypeVar("R")


def named_options(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with `ConfigError` for a keyword that is none of its parameters.

    >>> @named_options
    ... def look(model, *, every=50): ...
    >>> look(1, evry=5)
    Traceback (most recent call last):
    headwise.core.errors.ConfigError: look() has no option 'evry'; did you mean every?
    """
    known = list(inspect.signature(function).parameters)

    @wraps(function)
    def called(*args: P.args, **options: P.kwargs) -> R:
        for name in options:
            if name not in known:
                near = nearest_key(name, known) or f"; it has {', '.join(known)}"
                raise ConfigError(f"{function.__name__}() has no option {name!r}{near}")
        return function(*args, **options)

    return called
