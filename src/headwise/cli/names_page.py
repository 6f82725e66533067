"""The reference of Python names: every public name with its types, what it is for, and an example that runs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import headwise
from headwise.core.config import Config
from headwise.core.markdown import markdown_table

HEADER = """# Python names

This page is made from signatures and docstrings when the site is built; the tests run every example. `import headwise`
is enough for all of them, and costs nothing until a name is used.
"""

WIDTH = 100


def render() -> str:
    """The page as Markdown."""
    rows = [(f"[`{name}`](#{name.lower()})", _first_sentence(name)) for name in headwise.__all__]
    return "\n".join([HEADER, markdown_table(("name", "what it is"), rows), *map(section, headwise.__all__)]) + "\n"


def section(name: str) -> str:
    """One name."""
    thing = getattr(headwise, name)
    doc = inspect.getdoc(thing) or ""
    words, _, example = doc.partition(">>>")
    if not inspect.isclass(thing):
        lines = ["```python", signature(thing, name), "```"]
    elif issubclass(thing, Config):
        lines = [f"A config: its keys are the keyword arguments, listed under [Config keys](config.md#{_part(thing)})."]
    else:
        lines = []
    lines += ["", _prose(words)]
    if example:
        lines += ["", "```pycon", f">>>{example}".rstrip(), "```"]
    return "\n".join([f"\n## {name}\n", *lines])


def signature(function: Any, name: str) -> str:
    """A function's signature with types, one parameter a line where it is long."""
    shown = inspect.signature(function)
    known = inspect.unwrap(function).__globals__
    parts, keyword_only = [], False
    for parameter in shown.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parts.append("*")
        parts.append(_parameter(parameter, known))
    answer = f" -> {shown.return_annotation}" if shown.return_annotation is not shown.empty else ""
    line = f"{name}({', '.join(parts)}){answer}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){answer}"


def _parameter(parameter: inspect.Parameter, known: Mapping[str, Any]) -> str:
    typed = f"{parameter.name}: {spelled(str(parameter.annotation), known)}"
    default = parameter.default
    if default is parameter.empty:
        return typed
    plain = default is None or isinstance(default, str | int | float | tuple)
    return f"{typed} = {repr(default) if plain else '...'}"


def spelled(annotation: str, known: Mapping[str, Any]) -> str:
    """A type with short names of other types written out, so that a reader sees which words it takes.

    >>> spelled("Where | None", {"Where": Literal["here", "there"]})
    "Literal['here', 'there'] | None"
    """

    def meant(match: re.Match[str]) -> str:
        alias = known.get(match[0])
        return match[0] if get_origin(alias) is None else _type_text(alias)

    return re.sub(r"(?<![\w.'])[A-Z]\w*", meant, annotation)


def _type_text(alias: Any) -> str:
    if get_origin(alias) in (Union, UnionType):
        return " | ".join(map(_type_text, get_args(alias)))
    if get_origin(alias) is Literal:
        return f"Literal[{', '.join(map(repr, get_args(alias)))}]"
    return (
        alias.__name__ if isinstance(alias, type) and not get_args(alias) else re.sub(r"\b(?:\w+\.)+", "", str(alias))
    )


def _prose(words: str) -> str:
    """Paragraphs of a docstring; an asterisk or a bracket outside of code is text."""
    parts = re.split(r"(`[^`]*`)", words.strip())
    return "".join(part if part.startswith("`") else re.sub(r"([*<])", r"\\\1", part) for part in parts)


def _first_sentence(name: str) -> str:
    words = " ".join((inspect.getdoc(getattr(headwise, name)) or "").partition("\n\n")[0].split())
    return _prose(words)


def _part(config: type[Config]) -> str:
    return "flow" if config.__name__ == "FlowConfig" else "run"
