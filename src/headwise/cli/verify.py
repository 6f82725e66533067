"""`headwise verify`: everything that is stored of runs, checked; torch is not needed."""

from __future__ import annotations

import argparse
from pathlib import Path

from headwise.cli.command import Command, print_result, refuse_extra
from headwise.cli.options import add_json, path_argument
from headwise.cli.streams import say
from headwise.core.errors import CorruptData


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        type=path_argument,
        nargs="*",
        default=Path("runs"),
        metavar="DIR",
        help="runs, or directories with runs in them (default: runs)",
    )
    add_json(parser)
    parser.epilog = (
        "Checks every file against its digest, against the run it belongs to, the files before it and the manifest, "
        "and every directory's name against what is in it. Changes nothing. Exit code 3 and the names of the files "
        "where something is wrong. docs/runs.md says what is found and what cannot be."
    )


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    from headwise.store.verify import verify

    report = verify(arguments.paths)
    print_result(report, arguments)
    if report.sound:
        return 0
    say(f"headwise: {report.summary()}")
    return CorruptData.exit_code


COMMAND = Command("verify", "check everything that is stored of runs", add, run, functions=("verify",))
