"""From data and templates to one HTML file that can load nothing and run nothing but its own script.

Text goes through jinja2's autoescape, data into a JSON block that holds no `<`, `>`, `&` or line separator, and the
Content-Security-Policy names the page's own style and scripts by their hash: a label can only ever be text.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from headwise.core.atomic import replace_file
from headwise.core.errors import ConfigError
from headwise.core.glossary import GLOSSARY
from headwise.core.readable import readable

SCHEMA = 2
"""Version of the JSON in a page: it goes up when a key changes its name or its meaning, not when one is added.

`static/data.js` has the same number and refuses any other. The keys of a page of runs are described in `page_data`.
"""

HERE = Path(__file__).parent
LICENCES = dict.fromkeys(("vendor/uPlot.iife.min.js", "vendor/uPlot.min.css"), "vendor/LICENSE-uPlot")
"""The licence of what others wrote; it asks that every copy carries it, and a page is a copy."""

ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def render(
    template: str,
    context: Mapping[str, Any],
    *,
    data: Mapping[str, Any],
    styles: Sequence[str],
    scripts: Sequence[Sequence[str]],
    frames: str = "'none'",
) -> str:
    """A page from a template; each group of `scripts` becomes one inline script in a scope of its own.

    Every page ends with the glossary.
    """
    style = "\n".join(_static(name) for name in styles)
    inline = [_closed([_static(name) for name in group]) for group in scripts]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(
        **context,
        words=GLOSSARY,
        policy=_policy(style, inline, frames),
        style=style,
        scripts=inline,
        data=json_block({"schema": SCHEMA, **data}),
    )


def json_block(data: Mapping[str, Any]) -> str:
    """JSON that cannot end its script element, whatever its strings hold; everything beyond ASCII is escaped."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    for character, escape in ESCAPES.items():
        text = text.replace(character, escape)
    return text


def write_page(path: Path | str, page: str) -> int:
    """Replace the file at once, so that a browser reloading it never sees half a page; returns its size in bytes."""
    return replace_file(page_path(path), readable(page), option="-o")


def page_path(path: Path | str) -> Path:
    """The path, once it ends as a page does."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"{path}: a page ends in .html")
    return path


def _static(name: str) -> str:
    text = (HERE / name).read_text(encoding="utf-8")
    if name in LICENCES:
        text = f"/*! {(HERE / LICENCES[name]).read_text(encoding='utf-8').strip()} */\n{text}"
    if "</script" in text.lower() or "</style" in text.lower():
        raise ValueError(f"{name} would end the element it is put into")
    return text


def _closed(files: Sequence[str]) -> str:
    """Files that share one scope, unless it is a library that defines its own."""
    if len(files) == 1:
        return files[0]
    return '(() => {\n"use strict";\n' + "\n".join(files) + "\n})();"


def _policy(style: str, scripts: Sequence[str], frames: str) -> str:
    hashes = " ".join(f"'{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src '{_digest(style)}'; img-src data: blob:; "
        f"frame-src {frames}; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
