"""`headwise report`: stored runs as one self-contained HTML page; torch is not needed."""

from __future__ import annotations

import argparse
from pathlib import Path

from headwise.cli.command import Command, print_json, refuse_extra
from headwise.cli.options import add_json, path_argument
from headwise.cli.streams import say


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        type=path_argument,
        nargs="+",
        metavar="RUN",
        help="run directories, a directory of runs, netCDF or Zarr files; seeds of one config share panels, configs "
        "stand side by side",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=path_argument,
        default=Path("report.html"),
        metavar="FILE",
        help="file to write (default: report.html)",
    )
    parser.add_argument("--title", metavar="TEXT", help="a heading of your own")
    parser.add_argument("--watch", action="store_true", help="write the page again while the runs go on")
    parser.add_argument(
        "--every", type=float, default=10.0, metavar="SECONDS", help="with --watch: how often to look (default: 10)"
    )
    add_json(parser, "what was written")


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    from headwise.view.report.page import page, refresh_page

    if arguments.watch:
        written = refresh_page(
            arguments.runs, arguments.output, title=arguments.title, every=arguments.every, notify=say
        )
    else:
        written = page(arguments.runs, arguments.output, title=arguments.title)
        say(str(written))
    if arguments.json:
        print_json(written.to_json())
    return 0


COMMAND = Command(
    "report",
    "one HTML page of runs, seeds or comparisons",
    add,
    run,
    functions=(
        "page",
        "refresh_page",
        "notebook_page",
    ),
    instead={
        "watch": "refresh_page(RUNS)",
    },
    words=("phase", "offshoot", "competition index"),
)
