"""`headwise diagram`: a phase diagram over two config keys from a collected table."""

from __future__ import annotations

import argparse
from pathlib import Path

from headwise.cli.command import Command, print_json, refuse_extra
from headwise.cli.options import Several, add_json, figure_file, path_argument
from headwise.cli.streams import say


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "table", type=path_argument, metavar="TABLE", help="runs.parquet, as `headwise collect` writes it"
    )
    parser.add_argument("--x", required=True, metavar="KEY", help="config key along the horizontal axis")
    parser.add_argument("--y", required=True, metavar="KEY", help="config key along the vertical axis")
    parser.add_argument(
        "--value",
        action=Several,
        default=("stages",),
        metavar="NAME",
        help="stages, stages-heads, competitive-end, offshoots, order or excess-loss; several make panels "
        "(default: stages)",
    )
    parser.add_argument(
        "-o",
        "--to",
        type=figure_file,
        default=Path("diagram.png"),
        metavar="FILE",
        help="figure to write, as png, pdf or svg, with its numbers as CSV (default: diagram.png)",
    )
    add_json(parser, "the cells")


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    from headwise.view.draw_diagram import draw_diagram

    drawn = draw_diagram(arguments.table, x=arguments.x, y=arguments.y, value=arguments.value, to=arguments.to)
    say(str(drawn))
    if arguments.json:
        print_json(drawn.to_json())
    return 0


COMMAND = Command(
    "diagram",
    "draw a phase diagram over two config keys",
    add,
    run,
    functions=("draw_diagram",),
    words=("stage", "phase", "offshoot"),
)
