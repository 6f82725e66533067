"""README.md as a package index shows it; setup.py puts it into the metadata.

An index shows the text alone: it has neither the pictures nor the files that the README links to, and it removes
pictures that are embedded as data. Once pyproject.toml names the repository (`[project.urls] Source`), pictures and
links get addresses there. Until then the words that describe a picture stand in its place, and links are their words.

    python scripts/index_readme.py   # print it
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"^<!-- .*? -->\n", re.MULTILINE)


def for_index(text: str, *, source: str | None) -> str:
    """The text with addresses below `source`, or without pictures and links where there is none."""

    def changed(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        if source is None:
            return f"*Picture: {words}.*" if picture else words
        return f"{picture}[{words}]({source.rstrip('/')}/{'raw' if picture else 'blob'}/main/{target})"

    parts = FENCE.split(MARK.sub("", text))
    return "".join(part if part.startswith("```") else LINK.sub(changed, part) for part in parts)


def long_description() -> str:
    """For setup.py."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return for_index(text, source=project.get("urls", {}).get("Source"))


if __name__ == "__main__":
    print(long_description())
