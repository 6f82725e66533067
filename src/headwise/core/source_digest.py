"""Somebody's own function or class by a digest of its source, so that a run is never continued with other code.

The digest covers the text of the function, of the functions and classes of one's own that it names, and the plain
values and arrays that it uses from outside. Code of installed packages counts by its name alone. What a function reads
from elsewhere, such as a file, is not seen.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
import sysconfig
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

PLAIN = (str, bytes, int, float, complex, bool, type(None))


def source_digest(thing: Any) -> str:
    """64 hexadecimal digits that stand for the code of a function, a class or an object that can be called."""
    text = "\0".join(_parts(thing, set()))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def qualified_name(thing: Any) -> str:
    """Module and name of a function, or of the class of an object."""
    if isinstance(thing, functools.partial):
        return f"partial of {qualified_name(thing.func)}"
    if not hasattr(thing, "__qualname__"):
        thing = type(thing)
    return f"{getattr(thing, '__module__', None) or '?'}.{thing.__qualname__}"


def is_installed(thing: Any) -> bool:
    """Whether this belongs to a package or to Python itself, not to the person's own files, cells and lines."""
    name = getattr(thing, "__module__", None) or "builtins"
    if name.partition(".")[0] in {*sys.stdlib_module_names, *sys.builtin_module_names, "headwise"}:
        return bool(name != "__main__")
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return False
    places = [sysconfig.get_path(key) for key in ("purelib", "platlib", "stdlib")]
    return any(part in ("site-packages", "dist-packages") for part in Path(file).parts) or any(
        Path(file).is_relative_to(place) for place in places
    )


def _parts(thing: Any, seen: set[int]) -> Iterator[str]:
    """Texts that together stand for a thing; each function and class once, so that recursion ends."""
    if isinstance(thing, PLAIN):
        yield f"{type(thing).__name__} {thing!r}"
        return
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, functools.partial):
        yield "partial"
        yield from _parts((thing.func, thing.args, thing.keywords), seen)
    elif isinstance(thing, MethodType):
        yield from _parts(thing.__func__, seen)
        yield from _parts(thing.__self__, seen)
    elif isinstance(thing, FunctionType):
        yield from _function(thing, seen)
    elif isinstance(thing, type):
        yield from _class(thing, seen)
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            yield f"key {key!r}"
            yield from _parts(value, seen)
    elif isinstance(thing, list | tuple):
        yield f"{type(thing).__name__} of {len(thing)}"
        for value in thing:
            yield from _parts(value, seen)
    elif (array := _as_array(thing)) is not None:
        content = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        yield f"array {array.dtype.str} {array.shape} {content}"
    elif callable(thing) and not isinstance(thing, ModuleType):
        yield from _parts(type(thing), seen)
        yield from _parts(getattr(thing, "__dict__", {}) if not is_installed(type(thing)) else {}, seen)
    else:
        yield qualified_name(thing)


def _function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    yield qualified_name(function)
    if is_installed(function):
        return
    yield _text(function) or _compiled(function.__code__)
    cells = (cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell))
    named = (function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__)
    for value in (function.__defaults__, function.__kwdefaults__, *cells, *named):
        if not isinstance(value, ModuleType):
            yield from _parts(value, seen)


def _class(kind: type, seen: set[int]) -> Iterator[str]:
    yield qualified_name(kind)
    if is_installed(kind):
        return
    for base in kind.__bases__:
        yield from _parts(base, seen)
    yield _text(kind) or ""
    for value in vars(kind).values():
        inner = getattr(value, "__func__", value)
        if isinstance(inner, FunctionType):
            yield from _function(inner, seen)


def _text(thing: Any) -> str | None:
    try:
        return textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError):
        return None  # typed at a prompt, or a class of a notebook, whose methods have their text


def _compiled(code: CodeType) -> str:
    """Where there is no text, what Python made of it."""
    parts = [c for c in code.co_consts if not isinstance(c, CodeType)]
    inner = [_compiled(c) for c in code.co_consts if isinstance(c, CodeType)]
    return f"{code.co_code.hex()} {parts!r} {code.co_names!r} {inner!r}"


def _names(code: CodeType) -> list[str]:
    """Names that a function and the functions inside it may look up outside."""
    inner = [name for const in code.co_consts if isinstance(const, CodeType) for name in _names(const)]
    return list(dict.fromkeys([*code.co_names, *inner]))


def _is_filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _as_array(thing: Any) -> np.ndarray | None:
    """numpy arrays, and torch tensors without importing torch."""
    if isinstance(thing, np.ndarray):
        return thing if thing.dtype != object else None
    if type(thing).__module__.partition(".")[0] == "torch" and hasattr(thing, "detach"):
        try:
            return np.asarray(thing.detach().cpu())
        except (TypeError, RuntimeError):
            return None
    return None
