"""The `headwise` command: finds the subcommand, runs it, turns every failure into one line and an exit code.

The parser is argparse with the config keys read from the schema, rather than a generator of command lines: it starts
in milliseconds and every mistake can be answered in one line.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys

# One thread a run: set before any library starts its own, which then spin against each other on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from headwise.cli.command import COMMANDS, HelpText, Parser, refuse_extra
from headwise.cli.environment import prepare_environment
from headwise.cli.last_resort import explain_error
from headwise.cli.overrides import take_config_options
from headwise.cli.signals import Terminated, end_on_sigterm
from headwise.cli.streams import ReaderGone, finish_stdout, give_up_on_stderr, prepare_streams, put, say
from headwise.core.errors import HeadwiseError, Interrupted
from headwise.core.extras import missing_extra
from headwise.core.glossary import explain

__all__ = ["COMMANDS", "build_parser", "main"]

MODULES = (
    "train",
    "branch",
    "show",
    "report",
    "phases",
    "probe",
    "flow",
    "check",
    "reproduce",
    "sweep",
    "collect",
    "export",
    "diagram",
    "catalogue",
    "verify",
    "bench",
    "schema",
    "completion",
)
"""One module of `headwise.cli` per command, in the order of `headwise --help`."""

for _name in MODULES:
    _command = importlib.import_module(f"headwise.cli.{_name}").COMMAND
    COMMANDS[_command.name] = _command


class ShowVersion(argparse.Action):
    """Looks the version up only when it is asked for: that takes longer than the rest of the start."""

    def __init__(self, option_strings: list[str], dest: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *given: object) -> None:
        import importlib.metadata

        put(f"headwise {importlib.metadata.version('headwise')}")
        parser.exit()


def build_parser() -> Parser:
    """Every command with its options."""
    parser = Parser(
        prog="headwise",
        description="Watch attention heads learn.",
        formatter_class=HelpText,
        epilog=f"`headwise COMMAND --help` shows what a command takes.\n\nwords:\n{explain()}",
    )
    parser.add_argument("--version", action=ShowVersion, help="show the version of headwise and exit")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for command in COMMANDS.values():
        child = commands.add_parser(
            command.name,
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            allow_abbrev=False,
            formatter_class=HelpText,
        )
        command.add(child)
        if command.words:
            child.epilog = f"{child.epilog or ''}\n\nwords:\n{explain(command.words)}".lstrip("\n")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command line; returns the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    debug = "--debug" in argv
    argv = [argument for argument in argv if argument != "--debug"]
    prepare_streams()
    prepare_environment()
    try:
        with end_on_sigterm():
            try:
                return _answer(argv)
            finally:
                finish_stdout()
    except ReaderGone:
        return 0
    except KeyboardInterrupt:
        return 130
    except Terminated:
        say("headwise: stopped by SIGTERM; no file is half written, and the same command starts again")
        return Interrupted.exit_code
    except Exception as error:
        line = explain_error(error)
        if debug or line is None:
            raise
        say(f"headwise: {line}")
        return error.exit_code if isinstance(error, HeadwiseError) else 1
    finally:
        give_up_on_stderr()


def _answer(argv: list[str]) -> int:
    rest, config_options = take_config_options(argv)
    parser = build_parser()
    arguments, unknown = parser.parse_known_args(rest)
    if arguments.command is None:
        refuse_extra([*unknown, *config_options])
        parser.print_help()
        return 0
    try:
        return COMMANDS[arguments.command].run(arguments, [*unknown, *config_options])
    except ModuleNotFoundError as error:
        raise missing_extra(error) or error from None


if __name__ == "__main__":
    sys.exit(main())
