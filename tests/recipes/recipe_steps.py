"""Recipes of CONTRIBUTING.md as steps that can be carried out: files to write, lines to add, commands to run.

A recipe is a section `## Add ...`; its steps are numbered. These sentences are understood, each before a code block:
``Write `FILE`:``, ``In `FILE`, below `LINE`, add:``, ``In `FILE`, instead of `LINE`, write:`` and ``Run:``. A sentence
``It shows `TEXT`.`` after a command says what its output holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

SECTION = re.compile(r"^## (Add .+)$", re.MULTILINE)
BLOCK = re.compile(
    r"(?:Write `(?P<new>[^`]+)`|In `(?P<edited>[^`]+)`, (?P<how>below|instead of) `(?P<line>[^`]+)`, (?:add|write)"
    r"|(?P<run>Run)):\n+"
    r"(?P<indent> *)```\w*\n(?P<code>.*?)\n *```(?:\n+ *It shows `(?P<shows>[^`]+)`\.)?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Step:
    """One step: exactly one of `new`, `edited` and `command`."""

    new: str = ""
    edited: str = ""
    line: str = ""
    how: str = ""
    text: str = ""
    command: str = ""
    shows: str = ""


@dataclass(frozen=True)
class Recipe:
    """A section of CONTRIBUTING.md."""

    title: str
    steps: tuple[Step, ...] = field(default=())


def recipes(page: Path) -> list[Recipe]:
    """Every recipe of the page, in order."""
    parts = SECTION.split(page.read_text(encoding="utf-8"))[1:]
    found = []
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        body = re.split(r"^## ", body, maxsplit=1, flags=re.MULTILINE)[0]
        found.append(Recipe(title, tuple(_step(match) for match in BLOCK.finditer(body))))
    return found


def _step(match: re.Match[str]) -> Step:
    indent = len(match["indent"])
    text = "\n".join(line[indent:] for line in match["code"].split("\n"))
    if match["run"]:
        return Step(command=text, shows=match["shows"] or "")
    return Step(
        new=match["new"] or "",
        edited=match["edited"] or "",
        line=match["line"] or "",
        how=match["how"] or "",
        text=text,
    )


def carry_out(step: Step, root: Path) -> None:
    """Write or edit a file below `root`; a line that is not there exactly once is an error."""
    if step.new:
        path = root / step.new
        assert not path.exists(), f"{step.new} exists already"
        path.write_text(step.text + "\n", encoding="utf-8")
        return
    path = root / step.edited
    lines = path.read_text(encoding="utf-8").split("\n")
    places = [number for number, line in enumerate(lines) if line.strip() == step.line.strip()]
    assert len(places) == 1, f"{step.edited} has the line {step.line!r} {len(places)} times"
    first = places[0] + (step.how == "below")
    lines[first : places[0] + 1] = step.text.split("\n")
    path.write_text("\n".join(lines), encoding="utf-8")
