"""`headwise check`: every statement of the paper, as printed and as corrected, tested on random instances."""

from __future__ import annotations

import argparse
import sys

from headwise.cli.command import Command, print_result, refuse_extra
from headwise.cli.options import add_json
from headwise.cli.streams import put, say_over


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", default=(), metavar="NAME", help="statements to check (default: all); see --list"
    )
    parser.add_argument("--trials", type=int, default=20, metavar="N", help="random instances per check (default: 20)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the instances (default: 0)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("--list", action="store_true", dest="only_list", help="only name the statements")
    add_json(parser)


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    from headwise.theory.check import check, list_statements

    if arguments.only_list:
        put("\n".join(list_statements()))
        return 0
    checked = check(
        arguments.names, trials=arguments.trials, seed=arguments.seed, workers=arguments.workers, progress=show_progress
    )
    print_result(checked, arguments)
    return 0 if checked.hold else 1


def show_progress(done: int, total: int) -> None:
    """A count that stays on its line; nothing where stderr is no terminal."""
    if sys.stderr.isatty():
        say_over(f"{done}/{total} statements", end="\n" if done == total else "")


COMMAND = Command(
    "check",
    "test every statement of the paper, as printed and as corrected",
    add,
    run,
    functions=(
        "check",
        "list_statements",
    ),
    instead={
        "only_list": "list_statements()",
    },
)
