"""The reference is complete: every public name, command, option, config key, variable and exit code is found in it."""

from __future__ import annotations

import argparse

import pytest
from tests.docs.page_blocks import ROOT

import headwise
from headwise.cli import commands_page, config_page, names_page
from headwise.cli.command import COMMANDS
from headwise.core.errors import HeadwiseError
from headwise.core.keys import known_keys
from headwise.core.variables import DIMENSIONS, VARIABLES
from headwise.flow.config import FlowConfig
from headwise.paper import figures_page
from headwise.paper.manifest import ENTRIES
from headwise.paper.places import FIGURES
from headwise.study.cluster_config import ClusterConfig
from headwise.study.config import RunConfig


def test_every_public_name_has_types_and_an_example() -> None:
    page = names_page.render()
    sections = {part.partition("\n")[0]: part for part in page.split("\n## ")[1:]}
    assert set(sections) == set(headwise.__all__)
    for name, text in sections.items():
        assert ">>> " in text, f"{name} has no example"
        if not isinstance(getattr(headwise, name), type):
            assert f"```python\n{name}(" in text
            assert " -> " in text, f"{name} does not say what it returns"


def test_every_command_and_option_is_there() -> None:
    page = commands_page.render()
    sections = {part.partition("\n")[0]: part for part in page.split("\n## ")[1:]}
    for name, command in COMMANDS.items():
        parser = argparse.ArgumentParser()
        command.add(parser)
        for action in parser._actions:
            for flag in action.option_strings:
                assert f"{flag}" in sections[name], f"{name} {flag}"
    codes = {error.exit_code for error in HeadwiseError.__subclasses__()} | {0, 130}
    assert all(f"| `{code}` |" in sections["Exit codes"] for code in codes)


def test_every_exit_code_is_in_the_page_of_runs() -> None:
    page = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
    for error in HeadwiseError.__subclasses__():
        assert f"\n| {error.exit_code} |" in page


@pytest.mark.parametrize("schema", [RunConfig, FlowConfig, ClusterConfig])
def test_every_config_key_is_there_with_its_meaning(schema) -> None:  # type: ignore[no-untyped-def]
    page = config_page.render()
    for key in known_keys(schema):
        [row] = [line for line in page.splitlines() if line.startswith(f"| `{key}` |")][:1]
        assert row.rpartition(" | ")[2].strip(" |"), f"{key} has no meaning"


def test_every_variable_and_dimension_is_there() -> None:
    page = (ROOT / "docs" / "variables.md").read_text(encoding="utf-8")
    measured = [row.name for row in VARIABLES.values() if row.source == "trajectory"]
    for name in (*measured, *DIMENSIONS):
        assert f"| `{name}` |" in page


def test_every_figure_and_claim_has_its_command() -> None:
    page = figures_page.render()
    assert all(f"`headwise reproduce {name}`" in page for name in ENTRIES)
    for number in range(1, len(FIGURES) + 1):
        assert f"Fig. {number}" in page, f"no command makes figure {number}"
