"""A call that does not fit a function gets the sentence that a mistake on the command line gets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from headwise.core.errors import ConfigError
from headwise.core.keys import nearest_key

P = ParamSpec("P")
R = TypeVar("R")


def named_options(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with `ConfigError` for a misspelt option, a value too many and one that is missing.

    >>> @named_options
    ... def look(model, *, tokens, every=50): ...
    >>> look(1, tokens=2, evry=5)
    Traceback (most recent call last):
    headwise.core.errors.ConfigError: look() has no option 'evry'; did you mean every?
    >>> look(1, 2)
    Traceback (most recent call last):
    headwise.core.errors.ConfigError: look() takes only model without a name; give the rest by name, such as tokens=...
    >>> look(1)
    Traceback (most recent call last):
    headwise.core.errors.ConfigError: look() needs tokens; give it as tokens=...
    """
    parameters = inspect.signature(function).parameters

    @wraps(function)
    def called(*args: P.args, **options: P.kwargs) -> R:
        _require_fitting(function.__name__, parameters, args, options)
        return function(*args, **options)

    return called


def _require_fitting(
    name: str, parameters: Mapping[str, inspect.Parameter], args: Sequence[Any], options: Mapping[str, Any]
) -> None:
    """Only functions without `*args` and `**kwargs` are meant here: whatever they take has a name."""
    said = [known for known in parameters if known != "self"]
    for option in options:
        if option not in parameters:
            near = nearest_key(option, said) or (f"; it has {', '.join(said)}" if said else "; it has none")
            raise ConfigError(f"{name}() has no option {option!r}{near}")
    in_order = [known for known, parameter in parameters.items() if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    if len(args) > len(in_order):
        alone = " and ".join(known for known in in_order if known != "self")
        further = [known for known in said if known not in in_order and known not in options]
        fix = f"; give the rest by name, such as {further[0]}=..." if further else ""
        takes = f"takes only {alone} without a name" if alone else "takes no value without a name"
        raise ConfigError(f"{name}() {takes}{fix}")
    twice = next((known for known in in_order[: len(args)] if known in options), None)
    if twice is not None:
        raise ConfigError(f"{name}() is given {twice} twice, in its place and by name; give it once")
    given = {*in_order[: len(args)], *options}
    missing = [known for known in said if parameters[known].default is inspect.Parameter.empty and known not in given]
    if missing:
        raise ConfigError(f"{name}() needs {' and '.join(missing)}; give it as {missing[0]}=...")
