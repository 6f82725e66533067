"""What every command shares: a parser that answers in one line, exit codes, where output goes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Protocol

from headwise.cli.streams import put, say
from headwise.core.config import Config
from headwise.core.errors import ConfigError
from headwise.core.keys import nearest_key
from headwise.core.text import WIDTH, wrap


class Parser(argparse.ArgumentParser):
    """argparse, but a mistake is one line on stderr and exit code 2."""

    def error(self, message: str) -> NoReturn:
        if "invalid choice" in message and "argument COMMAND" in message:
            given = message.split("'")[1]
            message = f"unknown command {given!r}{nearest_key(given, COMMANDS)}"
        raise ConfigError(" ".join(message.split()))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        # Python 3.11 drops this `--` and hands on an empty list for a value: `--seeds=--` would be no seed at all.
        for argument in args or ():
            option, given, value = argument.partition("=")
            if option.startswith("--") and given and value == "--":
                raise ConfigError(f"{option} needs a value; -- is none")
        return super().parse_known_args(args, namespace)

    def _print_message(self, message: str, file: Any = None) -> None:
        # Help and version; argparse itself would pass over a stdout that cannot be written.
        put(message, end="")


class HelpText(argparse.HelpFormatter):
    """Help whose words are not broken at hyphens; descriptions and epilogs keep their own lines where these fit."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(" ".join(text.split()), width=width).split("\n")

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = (line if len(line) <= WIDTH else wrap(line) for line in text.split("\n"))
        return "\n".join(indent + line for line in lines)


@dataclass(frozen=True)
class Command:
    """One subcommand: `add` declares its arguments, `run` calls its functions and returns the exit code.

    `functions` names the functions of `headwise` that do the work. An option has the name and the default of a
    parameter of one of them, or stands in `instead` with what one writes in Python; docs/python.md shows both.
    """

    name: str
    summary: str
    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, list[str]], int]
    functions: tuple[str, ...] = ()
    instead: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    """Words of the glossary that its help explains."""
    keys: type[Config] | None = None
    """The config whose keys it takes as options."""


COMMANDS: dict[str, Command] = {}
"""Filled by `headwise.cli.main`, in the order of `headwise --help`."""


def refuse_extra(extra: list[str]) -> None:
    """For commands that take no config keys."""
    if extra:
        raise ConfigError(f"unexpected argument {extra[0]!r}; --help shows what this command takes")


class Result(Protocol):
    """What a command's function returns: text for people, and values for programs."""

    def to_json(self) -> Any: ...


def print_result(result: Result, arguments: argparse.Namespace) -> None:
    """The result on stdout, as text or with --json as one JSON document."""
    if arguments.json:
        print_json(result.to_json())
    else:
        put(str(result))


def print_json(document: Any) -> None:
    """Exactly one JSON document on stdout."""
    put(json.dumps(document, indent=2, allow_nan=False))


def quietly(arguments: argparse.Namespace) -> Callable[[str], None]:
    """What takes lines about progress: stderr, or with --quiet nothing."""
    return (lambda line: None) if arguments.quiet else say


def say_drawn(path: Path) -> None:
    """Say that a figure was written, with its numbers beside it."""
    say(f"wrote {path} and {path.with_suffix('.csv')}")
