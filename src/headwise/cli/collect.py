"""`headwise collect`: from many runs to two tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from headwise.cli.command import Command, print_json, refuse_extra, say


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("roots", type=Path, nargs="+", metavar="DIR", help="output roots, as from several machines")
    parser.add_argument("-o", "--to", type=Path, default=Path("collected"), metavar="DIR", help="default: collected")
    parser.add_argument("--json", action="store_true", help="print what was written as one JSON document")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        "Writes runs.parquet (a row per run: config, last measurement, phase report) and curves.parquet (every curve\n"
        "in long form). Every file is checked against its digest; damaged, unfinished and conflicting runs are told.\n"
    )


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    from headwise.study.collect import collect

    table, curves, notes = collect(arguments.roots, arguments.to)
    for note in notes:
        say(note)
    if arguments.json:
        print_json({"runs": str(table), "curves": str(curves), "notes": notes})
    else:
        print(f"{table}\n{curves}")
    return 0


COMMAND = Command("collect", "gather runs of one or several roots into two Parquet tables", add, run)
