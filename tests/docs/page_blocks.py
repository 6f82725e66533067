"""Code blocks of the documentation, and what is to be done with each.

A block says its language: `python`, `pycon`, `sh`, `toml`, `json`, or `text` for what is not to be run. A comment
before a block says more about it:

- `<!-- long -->` and `<!-- remote -->`: takes minutes, or needs what is not here; its commands are parsed, not run.
- `<!-- run by tests/... -->`: another test runs it.
- `<!-- part of FILE -->`: lines of a file that another test runs.
- `<!-- file: NAME -->`: the block is the content of that file.
- `<!-- first: CODE -->`: what the reader is taken to have already; run before the block.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "results").rglob("README.md")),
)
LANGUAGES = ("python", "pycon", "sh", "toml", "json", "text")
BLOCK = re.compile(
    r"(?:^ *<!-- (?P<mark>(?:(?!-->).)*?)\s*-->\n+)?^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^ *```$",
    re.M | re.S,
)
INLINE = re.compile(r"`(headwise [a-z][^`]*)`")


@dataclass(frozen=True)
class Block:
    """One block of a page; `line` is where it begins."""

    page: Path
    line: int
    language: str
    code: str
    mark: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def runs(self) -> bool:
        """Whether the test of blocks runs it."""
        return self.language in ("python", "sh") and not self.mark.startswith(("long", "remote", "run by ", "part of "))


def blocks(page: Path) -> list[Block]:
    """Every block of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        indent = len(match["indent"])
        code = "\n".join(line[indent:] for line in match["code"].splitlines()) + "\n"
        line = text[: match.start("language")].count("\n") + 1
        found.append(Block(page, line, match["language"], code, (match["mark"] or "").strip()))
    return found


def inline_commands(page: Path) -> list[str]:
    """Commands of headwise in running text."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    return [" ".join(command.replace("\\|", "|").split()) for command in INLINE.findall(text)]


def command_lines(code: str) -> list[str]:
    """The commands of a shell block, one line each, without comments."""
    joined = code.replace("\\\n", " ")
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in joined.splitlines())
    return [line for line in lines if line]
