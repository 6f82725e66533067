"""`headwise collect`: from many runs to two tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from headwise.cli.command import Command, print_result, refuse_extra
from headwise.cli.options import add_json, path_argument
from headwise.cli.progress import counted
from headwise.cli.streams import say


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "roots", type=path_argument, nargs="+", metavar="DIR", help="folders of runs, such as from several machines"
    )
    parser.add_argument(
        "-o",
        "--to",
        type=path_argument,
        default=Path("collected"),
        metavar="DIR",
        help="folder for the tables (default: collected)",
    )
    add_json(parser, "what was written")
    parser.epilog = (
        "Writes runs.parquet (a row per run: config, last measurement, phase report) and curves.parquet (every curve "
        "in long form). Every file is checked against its digest; a line on stderr names each run that is left out."
    )


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    from headwise.study.collect import collect

    collected = collect(arguments.roots, arguments.to, progress=counted("runs collected"))
    for note in collected.notes:
        say(note)
    print_result(collected, arguments)
    return 0


COMMAND = Command(
    "collect",
    "gather runs of one or several folders into two Parquet tables",
    add,
    run,
    functions=("collect",),
    words=("phase",),
)
