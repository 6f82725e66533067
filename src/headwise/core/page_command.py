"""The command line of a generated page: where it goes, and `--help` rather than a file of that name."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path


def page_paths(about: str | None, paths: Mapping[str, str], arguments: Sequence[str] | None = None) -> list[Path]:
    """The paths given on the command line, in the order of `paths`, which has the default of each by its name.

    `about` is the docstring of the module that writes the page.

    >>> page_paths("A page.", {"page": "docs/a.md", "results": "results"}, ["b.md"])
    [PosixPath('b.md'), PosixPath('results')]
    """
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    for name, default in paths.items():
        parser.add_argument(name, nargs="?", type=Path, default=Path(default), help=f"default: {default}")
    given = parser.parse_args(arguments)
    return [getattr(given, name) for name in paths]
