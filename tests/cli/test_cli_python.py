"""Every command has its functions in Python, with the names and defaults of its options, and a page that says so."""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

import headwise
from headwise.cli.command import COMMANDS, Command
from headwise.cli.main import main
from headwise.cli.python_page import options, render
from headwise.study.experiments import experiment

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
WITHOUT_A_COMMAND = {"load", "watch"}
commands = pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda command: command.name)


def comparable(value: Any) -> Any:
    """Defaults that mean the same: a path and its text, sequences, and everything that is empty."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping | list | tuple):
        return list(value)
    return value


def parameters(command: Command) -> dict[str, list[inspect.Parameter]]:
    """Parameters of all functions of a command by name."""
    found: dict[str, list[inspect.Parameter]] = {}
    for name in command.functions:
        for parameter in inspect.signature(getattr(headwise, name)).parameters.values():
            found.setdefault(parameter.name, []).append(parameter)
    return found


@commands
def test_its_functions_are_public(command: Command) -> None:
    assert command.functions
    assert set(command.functions) <= set(headwise.__all__)


def test_every_public_function_belongs_to_a_command() -> None:
    functions = {name for name in headwise.__all__ if not inspect.isclass(getattr(headwise, name))}
    assert functions - WITHOUT_A_COMMAND == {name for command in COMMANDS.values() for name in command.functions}


@commands
def test_options_are_parameters_with_the_same_defaults(command: Command) -> None:
    known = parameters(command)
    for action in options(command):
        if action.dest in command.instead:
            continue
        assert action.dest in known, f"{action.dest} is no parameter of {', '.join(command.functions)}"
        for parameter in known[action.dest]:
            if parameter.default is parameter.empty:
                assert action.required or action.default is None, f"{action.dest} must be given in Python"
            else:
                assert comparable(action.default) == comparable(parameter.default), action.dest


@commands
def test_what_stands_for_a_flag_is_the_value_it_gives(command: Command) -> None:
    """`reverse=True`, not the text "True": Python takes every text for true, "False" among them."""
    section = render().partition(f"\n## {command.name}\n")[2].partition("\n## ")[0]
    for action in options(command):
        if action.const is None or action.dest in command.instead:
            continue
        [written] = re.findall(rf"^\| `{re.escape(action.option_strings[-1])}` \| `(.*)` \|$", section, re.MULTILINE)
        name, _, value = written.partition("=")
        assert (name, ast.literal_eval(value)) == (action.dest, action.const)


@commands
def test_choices_of_an_option_are_those_of_its_parameter(command: Command) -> None:
    """A value that the command refuses is not promised in Python, nor the other way round."""
    for action in options(command):
        if action.choices is None or action.dest in command.instead:
            continue
        for function in (getattr(headwise, name) for name in command.functions):
            words = literals(function, action.dest)
            assert not words or set(action.choices) == words, action.dest


def literals(function: Callable[..., Any], parameter: str) -> set[str]:
    """The words that the annotation of a parameter allows; empty where it allows any, or is not there."""
    text = function.__annotations__.get(parameter, "None")
    waiting = [eval(text, vars(importlib.import_module(function.__module__)))]
    words: set[str] = set()
    while waiting:
        part = waiting.pop()
        words |= {part} if isinstance(part, str) else set()
        waiting += get_args(part)
    return words


@commands
def test_what_one_writes_instead_names_things_that_exist(command: Command) -> None:
    assert set(command.instead) <= {action.dest for action in options(command)}
    for text in command.instead.values():
        for path in re.findall(r"([a-z_.]+)\(", text):
            if path.startswith("headwise."):
                module, _, name = path.rpartition(".")
                assert hasattr(importlib.import_module(module), name), path
            elif "." not in path:
                assert path in headwise.__all__, path


def test_a_config_without_options_is_the_experiment_of_python(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "minimal", "--dry-run"]) == 0
    assert json.loads(capsys.readouterr().out)["config"] == experiment("minimal").model_dump(mode="json")


def test_several_values_replace_the_default() -> None:
    parser = argparse.ArgumentParser()
    COMMANDS["diagram"].add(parser)
    given = ["t", "--x", "a", "--y", "b"]
    assert parser.parse_args(given).value == ("stages",)
    assert parser.parse_args([*given, "--value", "order", "--value", "offshoots"]).value == ["order", "offshoots"]


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run: python -m headwise.cli.python_page docs/python.md"
