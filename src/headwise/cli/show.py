"""`headwise show`: the state and the results of a stored run, as text, a figure or JSON; torch is not needed."""

from __future__ import annotations

import argparse

from headwise.cli.command import Command, print_result, refuse_extra, say_drawn
from headwise.cli.options import add_figure, add_json, path_argument


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=path_argument, metavar="RUN", help="a run directory")
    add_figure(parser, "also draw the run")
    add_json(parser)


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    from headwise.study.summary import show

    summary = show(arguments.run)
    if arguments.figure is not None:
        from headwise.view.figures import draw_run

        draw_run(arguments.run, arguments.figure)
        say_drawn(arguments.figure)
    print_result(summary, arguments)
    return 0


COMMAND = Command(
    "show",
    "the state and the results of a stored run",
    add,
    run,
    functions=(
        "show",
        "draw_run",
    ),
    instead={
        "figure": "draw_run(RUN, to=FILE)",
    },
    words=("head", "group", "prefix predictor"),
)
