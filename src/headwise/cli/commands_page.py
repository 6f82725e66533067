"""The reference of commands, from the parser itself: every argument with its meaning, and what a command exits with."""

from __future__ import annotations

import argparse

from headwise.cli.command import COMMANDS, Command
from headwise.cli.main import build_parser
from headwise.core.errors import HeadwiseError
from headwise.core.markdown import markdown_table

HEADER = """# Commands

This page is made from the parser when the site is built. `headwise COMMAND --help` prints the same in a terminal, and
[From commands to Python](../python.md) says how each option is written in Python.

`-h` or `--help` explains a command, `headwise --version` names the version, and `--debug`, anywhere on the line, shows
the traceback of an error. Commands that print a result take `--json`: exactly one JSON document on standard output,
everything else on standard error.
"""

CTRL_C = 130


def render() -> str:
    """The page as Markdown."""
    [children] = [action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)]
    overview = markdown_table(
        ("command", "what it does"),
        [(f"[`headwise {name}`](#{name})", command.summary) for name, command in COMMANDS.items()],
    )
    sections = [section(command, children.choices[name]) for name, command in COMMANDS.items()]
    return "\n".join([HEADER, overview, *sections, exit_codes()]) + "\n"


def section(command: Command, parser: argparse.ArgumentParser) -> str:
    """One command: how it is called, a table of its arguments, its examples."""
    places = [action for action in parser._actions if not action.option_strings]
    lines = [f"\n## {command.name}\n", f"{command.summary[0].upper()}{command.summary[1:]}.\n"]
    called = " ".join(["headwise", command.name, *(_place(action) for action in places), "[options]"])
    lines += ["```text", called, "```", ""]
    lines.append(markdown_table(("argument", "meaning"), [(f"`{_flag(a)}`", a.help or "") for a in parser._actions]))
    if command.keys is not None:
        section_of = "flow" if command.name == "flow" else "run"
        lines.append(f"\nEvery [config key](config.md#{section_of}) is an option too, such as `{_example(command)}`.")
    examples = [line.strip() for line in (parser.epilog or "").splitlines() if line.startswith("  headwise ")]
    if examples:
        lines += ["", "```sh", *examples, "```"]
    return "\n".join(lines)


def exit_codes() -> str:
    """Every exit code with the errors that have it and what they mean."""
    by_key = "Stopped by Ctrl-C: the first one saves everything, a second one ends at once."
    meanings: dict[int, list[str]] = {0: ["Done."], CTRL_C: [by_key]}
    for error in HeadwiseError.__subclasses__():
        about = " ".join((error.__doc__ or "").split())
        meanings.setdefault(error.exit_code, []).append(f"`{error.__name__}`: {about}")
    rows = [(f"`{code}`", " ".join(meanings[code])) for code in sorted(meanings)]
    return (
        "\n## Exit codes\n\nErrors are classes of `headwise.core.errors`; Python raises them with the sentence "
        "that the command prints.\n\n" + markdown_table(("code", "meaning"), rows)
    )


def _flag(action: argparse.Action) -> str:
    name = ", ".join(action.option_strings)
    if not name:
        return _place(action)
    if action.nargs == 0:
        return name
    return f"{name} {_value(action)}"


def _value(action: argparse.Action) -> str:
    if action.metavar is not None:
        return str(action.metavar)
    return "|".join(map(str, action.choices)) if action.choices else action.dest.upper()


def _place(action: argparse.Action) -> str:
    value = _value(action)
    several = "..." if action.nargs in ("*", "+") else ""
    return f"[{value}{several}]" if action.nargs in ("*", "?") else f"{value}{several}"


def _example(command: Command) -> str:
    return "--m 1.3" if command.name == "flow" else "--task.m 1.3"
