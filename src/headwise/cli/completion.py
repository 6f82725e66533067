"""`headwise completion`: what a shell needs to complete commands, options, config keys and their words.

The script is made from the parser itself by shtab and asks nothing when it is used, so that a key press never waits for
Python. It names what this version has: a new version needs a new script.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any, Literal, get_args

from headwise.cli.command import COMMANDS, Command, Parser, refuse_extra
from headwise.cli.overrides import FIXED, words_of
from headwise.cli.streams import put
from headwise.core.config import Config
from headwise.core.errors import ConfigError
from headwise.core.keys import known_keys
from headwise.core.named_options import named_options

Shell = Literal["bash", "zsh", "fish"]
FILES = ("FILE",)
FOLDERS = ("DIR", "RUN")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=get_args(Shell), help="the shell that the script is for")
    parser.epilog = (
        "Once, and again after an update, into the folder where the shell looks for it:\n"
        "  headwise completion bash > ~/.local/share/bash-completion/completions/headwise\n"
        "  headwise completion zsh > ~/.zfunc/_headwise    # with fpath=(~/.zfunc $fpath) before compinit\n"
        "  headwise completion fish > ~/.config/fish/completions/headwise.fish\n"
    )


@named_options
def completion_script(shell: Shell) -> str:
    """A script after which the shell completes `headwise`: commands, options, config keys, their words, and files.

    >>> from headwise import completion_script
    >>> "--task.m" in completion_script("bash")
    True
    """
    if shell not in get_args(Shell):
        raise ConfigError(f"there is no completion for {shell!r}; take {', '.join(get_args(Shell))}")
    import shtab

    return str(shtab.complete(_complete_parser(), shell=shell))


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    put(completion_script(arguments.shell))
    return 0


def _complete_parser() -> Parser:
    """The parser of the command line with everything that is otherwise read beside it: keys, names, kinds of files."""
    import shtab

    from headwise.cli.main import build_parser

    parser = build_parser()
    [commands] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for name, child in commands.choices.items():
        command = COMMANDS[name]
        words = _names(command)
        for action in child._actions:
            if action.dest in words:
                action.choices = words[action.dest]
            elif action.metavar in FILES:
                action.complete = shtab.FILE
            elif action.metavar in FOLDERS:
                action.complete = shtab.DIRECTORY
        if command.keys is not None:
            _add_keys(child, command.keys)
    return parser


def _names(command: Command) -> dict[str, list[str]]:
    """Names that a command takes and that its parser leaves to the function it calls."""
    if command.name in ("train", "sweep"):
        from headwise.study.experiments import EXPERIMENTS

        return {"experiment": list(EXPERIMENTS), "path": ["auto", "kernel", "torch", "reference"]}
    if command.name == "check":
        from headwise.theory.check import list_statements

        return {"names": list_statements()}
    if command.name == "reproduce":
        from headwise.paper.manifest import ENTRIES

        return {"names": list(ENTRIES)}
    return {}


def _add_keys(parser: argparse.ArgumentParser, schema: type[Config]) -> None:
    """Config keys as options with their words; those that are options already stay as they are."""
    there: set[str] = {option for action in parser._actions for option in action.option_strings}
    for key in known_keys(schema):
        option = f"--{key}"
        if key in FIXED or {option, option.replace("_", "-")} & there:
            continue
        field = _field(schema, key)
        described: dict[str, Any] = {"help": (field.description or "").replace("%", "%%"), "metavar": "VALUE"}
        words: Iterable[str] = words_of(field.annotation)
        parser.add_argument(option, choices=list(words) or None, **described)


def _field(schema: Any, key: str) -> Any:
    *sections, name = key.split(".")
    for section in sections:
        schema = schema.model_fields[section].annotation
    return schema.model_fields[name]


COMMAND = Command(
    "completion", "a script that completes headwise in a shell", add, run, functions=("completion_script",)
)
