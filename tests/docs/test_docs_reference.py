"""The reference is complete: every public name, command, option, config key, variable and exit code is found in it.

Each part of it is a `Part`: what there must be, and how a thing is found on the page. What is taken off a page must be
missed, thing by thing, or the test of completeness would pass whatever the page says.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from tests.docs.page_blocks import ROOT

import headwise
from headwise.cli import commands_page, config_page, names_page
from headwise.cli.command import COMMANDS
from headwise.cli.main import build_parser
from headwise.core.errors import HeadwiseError
from headwise.core.keys import known_keys
from headwise.core.variables import DIMENSIONS, VARIABLES
from headwise.flow.config import FlowConfig
from headwise.paper import figures_page
from headwise.paper.manifest import ENTRIES
from headwise.paper.places import FIGURES
from headwise.study.cluster_config import ClusterConfig
from headwise.study.config import RunConfig

SOURCES = ROOT / "src" / "headwise"
RUN = ROOT / "tests" / "browser" / "data" / "minimal" / "0ea5daec-s0"
SCHEMAS = {"Run": RunConfig, "Flow": FlowConfig, "Cluster": ClusterConfig}
Thing = tuple[str, str]
"""A section of a page and what must stand in it; the whole page where the section is empty."""


@dataclass(frozen=True)
class Part:
    """One part of the reference."""

    page: Callable[[], str]
    things: Callable[[], Sequence[Thing]]
    place: Callable[[str], str]
    """The line, as a pattern, on which a thing stands."""


def sections(page: str) -> dict[str, str]:
    """Second headings and what stands below each; the whole page under the empty one."""
    parts = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    return {"": page, **{part.partition("\n")[0]: part for part in parts}}


def missing(part: Part, page: str) -> list[Thing]:
    """What does not stand where it must, with a meaning beside it."""
    below = sections(page)
    return [
        (section, thing)
        for section, thing in part.things()
        if not re.search(part.place(thing), below.get(section, ""), re.MULTILINE)
    ]


def options() -> list[Thing]:
    [children] = [one for one in build_parser()._actions if isinstance(one, argparse._SubParsersAction)]
    return [
        (name, flag)
        for name, parser in children.choices.items()
        for one in parser._actions
        for flag in one.option_strings
    ]


def errors(base: type[HeadwiseError] = HeadwiseError) -> Iterator[type[HeadwiseError]]:
    """Every class of errors, however deep."""
    for one in base.__subclasses__():
        yield one
        yield from errors(one)


def codes() -> list[Thing]:
    return [("Exit codes", str(code)) for code in sorted({one.exit_code for one in errors()} | {0, 130})]


def variables() -> list[Thing]:
    return [("", row.name) for row in VARIABLES.values() if row.source == "trajectory"]


def row(cell: str) -> str:
    """A row of a table that begins with a cell, and says something in its last one."""
    return rf"^\| {cell} \|(?:.*\|)? *[^|\s][^|]*\|$"


@cache
def rendered(page: Callable[[], str]) -> str:
    return page()


def variables_page() -> str:
    return (ROOT / "docs" / "variables.md").read_text(encoding="utf-8")


def runs_page() -> str:
    return (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")


PARTS = {
    "names": Part(names_page.render, lambda: [("", name) for name in headwise.__all__], lambda name: rf"^## {name}$"),
    "examples": Part(names_page.render, lambda: [(name, ">>> ") for name in headwise.__all__], lambda mark: f"^{mark}"),
    "commands": Part(commands_page.render, lambda: [("", name) for name in COMMANDS], lambda name: rf"^## {name}$"),
    "options": Part(
        commands_page.render, options, lambda flag: row(rf"`(?:[^`]*, )?{re.escape(flag)}(?:, [^`]*| [^`]*)?`")
    ),
    "exit codes": Part(commands_page.render, codes, lambda code: row(f"`{code}`")),
    "exit codes of runs": Part(runs_page, codes, row),
    "config keys": Part(
        config_page.render,
        lambda: [(section, key) for section, schema in SCHEMAS.items() for key in known_keys(schema)],
        lambda key: row(f"`{re.escape(key)}`"),
    ),
    "variables": Part(variables_page, variables, lambda name: rf"^\| `{name}` \|(?:[^|]*\|){{2}} *[^|\s]"),
    "dimensions": Part(
        variables_page, lambda: [("Dimensions", name) for name in DIMENSIONS], lambda name: row(f"`{name}`")
    ),
    "claims and figures": Part(
        figures_page.render, lambda: [("", name) for name in ENTRIES], lambda name: rf"`headwise reproduce {name}`"
    ),
}
every_part = pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)


@every_part
def test_everything_is_there(part: Part) -> None:
    assert part.things()
    assert missing(part, rendered(part.page)) == []


@every_part
def test_whatever_is_taken_off_a_page_is_missed(part: Part) -> None:
    page = rendered(part.page)
    for section, thing in part.things():
        whole = sections(page)[section]
        without = page.replace(whole, re.sub(f"{part.place(thing)}.*", "", whole, flags=re.MULTILINE))
        assert (section, thing) in missing(part, without)


def test_functions_have_types() -> None:
    below = sections(rendered(names_page.render))
    functions = [name for name in headwise.__all__ if not isinstance(getattr(headwise, name), type)]
    assert functions
    for name in functions:
        assert f"```python\n{name}(" in below[name]
        assert " -> " in below[name], f"{name} does not say what it returns"


def test_types_say_which_words_they_take() -> None:
    below = sections(rendered(names_page.render))
    assert "on_damage: Literal['refuse', 'recover'] = 'refuse'" in below["train"]
    assert "every: int | Literal['auto'] | Sequence[int] = 50" in below["watch"]


def test_code_in_the_words_of_a_docstring_stays_as_it_is() -> None:
    page = rendered(names_page.render)
    assert "`m**(h-k) * b0`" in page
    assert re.findall(r"`[^`\n]*\\[*<][^`\n]*`", page.replace("```", "")) == []


def test_options_before_any_command_are_there() -> None:
    head = rendered(commands_page.render).partition("\n## ")[0]
    for action in build_parser()._actions:
        for flag in action.option_strings:
            assert f"`{flag}`" in head or f"`headwise {flag}`" in head, flag


def test_every_file_with_a_command_is_one() -> None:
    files = {file.stem for file in (SOURCES / "cli").glob("*.py") if re.search(r"^COMMAND = ", file.read_text(), re.M)}
    assert len(files) == len(COMMANDS)


def test_every_key_of_a_config_is_known() -> None:
    """The keys of the reference are those that configs have when they are written down."""

    def leaves(schema: dict, part: dict, prefix: str = "") -> Iterator[str]:  # type: ignore[type-arg]
        for name, inner in part["properties"].items():
            below = schema["$defs"][inner["$ref"].rpartition("/")[2]] if "$ref" in inner else {}
            yield from leaves(schema, below, f"{prefix}{name}.") if "properties" in below else [f"{prefix}{name}"]

    for schema in SCHEMAS.values():
        document = schema.model_json_schema()
        assert sorted(leaves(document, document)) == sorted(known_keys(schema))


@pytest.mark.parametrize("source", ["a run", "a flow"])
def test_every_variable_that_is_recorded_is_there(source: str) -> None:
    found = headwise.load(RUN) if source == "a run" else headwise.simulate(headwise.FlowConfig(T=5, t_end=30.0))
    assert len(found.data_vars) > 5
    assert {str(name) for name in found.data_vars} <= {name for _, name in variables()}
    assert {str(name) for name in found.dims} <= set(DIMENSIONS)


def test_every_figure_of_the_paper_has_its_command() -> None:
    page = rendered(figures_page.render)
    assert FIGURES
    for number in range(1, len(FIGURES) + 1):
        assert re.search(rf"Fig\. {number}\b", page), f"no command makes figure {number}"


def test_no_page_of_the_reference_is_left_out_of_the_site() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = re.findall(r": ([\w/-]+\.md)$", nav, re.MULTILINE)
    assert len(pages) == len(set(pages)), "a page is in the menu twice"
    there = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert there <= set(pages)
    assert Path("reference/names.md").as_posix() in pages
