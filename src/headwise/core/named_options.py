"""A call that does not fit a function gets the sentence that a mistake on the command line gets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from typing import Any, Literal, ParamSpec, TypeVar, get_args, get_origin

from headwise.core.errors import ConfigError
from headwise.core.keys import nearest_key

P = ParamSpec("P")
R = TypeVar("R")
Keys = Callable[[], Iterable[str]]


def named_options(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with `ConfigError` for a misspelt option, a value too many, one that is missing and a wrong word.

    >>> @named_options
    ... def look(model, *, tokens, every=50, mode: Literal["on", "off"] = "on"): ...
    >>> look(1, tokens=2, evry=5)
    Traceback (most recent call last):
    headwise.core.errors.ConfigError: look() has no option 'evry'; did you mean every?
    >>> look(1, 2)
    Traceback (most recent call last):
    headwise.core.errors.ConfigError: look() takes only model without a name; give the rest by name, such as tokens=...
    >>> look(1)
    Traceback (most recent call last):
    headwise.core.errors.ConfigError: look() needs tokens; give it as tokens=...
    >>> look(1, tokens=2, mode="yes")
    Traceback (most recent call last):
    headwise.core.errors.ConfigError: mode = 'yes' must be 'on' or 'off'
    """
    return _fitted(function, keys=tuple)


def named_options_beside(keys: Keys) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The same for a function that takes a config: an option that is one of the config's keys is recognised."""
    return lambda function: _fitted(function, keys=keys)


def _fitted(function: Callable[P, R], *, keys: Keys) -> Callable[P, R]:
    parameters = inspect.signature(function).parameters
    words = cache(lambda: _words(function, parameters))

    @wraps(function)
    def called(*args: P.args, **options: P.kwargs) -> R:
        _require_fitting(function.__name__, parameters, args, options, keys)
        for name, value in {**dict(zip(parameters, args, strict=False)), **options}.items():
            _require_word(name, value, words().get(name, ()))
        return function(*args, **options)

    return called


def _require_fitting(
    name: str, parameters: Mapping[str, inspect.Parameter], args: Sequence[Any], options: Mapping[str, Any], keys: Keys
) -> None:
    """Only functions without `*args` and `**kwargs` are meant here: whatever they take has a name."""
    said = [known for known in parameters if known != "self"]
    for option in options:
        if option not in parameters:
            key = next((key for key in keys() if key.rpartition(".")[2] == option), None)
            if key is not None:
                fix = f"{key} is a key of the config, given as experiment(NAME, changes={{{key!r}: ...}})"
                raise ConfigError(f"{name}() has no option {option!r}; {fix}")
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


def _words(function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter]) -> dict[str, tuple[Any, ...]]:
    """For each parameter that takes one of a few words, these words; `None` among them where it may be left out."""
    found = {}
    for name, parameter in parameters.items():
        written = parameter.annotation
        try:
            annotation = eval(written, function.__globals__) if isinstance(written, str) else written
        except NameError:  # imported for type checkers alone, so none of the words that are checked here
            continue
        parts = (annotation,) if get_origin(annotation) is Literal else get_args(annotation)
        if parts and all(get_origin(part) is Literal or part is type(None) for part in parts):
            found[name] = tuple(word for part in parts for word in (get_args(part) or (None,)))
    return found


def _require_word(name: str, value: Any, words: Sequence[Any]) -> None:
    if not words or (isinstance(value, str | int | None) and value in words):
        return
    *others, last = [repr(word) for word in words if word is not None]
    near = nearest_key(value, [word for word in words if word is not None]) if isinstance(value, str) else ""
    raise ConfigError(f"{name} = {value!r:.60} must be {', '.join(others)}{' or ' * bool(others)}{last}{near}")
