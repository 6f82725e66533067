"""`headwise diagram`: a phase diagram over two config keys from a collected table."""

from __future__ import annotations

import argparse
from pathlib import Path

from headwise.cli.command import Command, figure_file, print_json, refuse_extra, write_and_say


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", type=Path, metavar="TABLE", help="runs.parquet, as `headwise collect` writes it")
    parser.add_argument("--x", required=True, metavar="KEY", help="config key across")
    parser.add_argument("--y", required=True, metavar="KEY", help="config key upwards")
    parser.add_argument(
        "--value", action="append", metavar="NAME",
        help="stages, stages-heads, competitive-end, offshoots, order or excess-loss; several make panels "
        "(default: stages)",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--to", type=figure_file, default=Path("diagram.png"), metavar="FILE", help="png, pdf or svg, with a CSV"
    )
    parser.add_argument("--json", action="store_true", help="print the cells as one JSON document")


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    from headwise.core.errors import ConfigError
    from headwise.core.plain import plain
    from headwise.study.diagram import phase_diagram
    from headwise.view.sheets.diagram import COLUMNS, diagram_sheet

    if not arguments.table.is_file():
        raise ConfigError(f"{arguments.table} is not a file; `headwise collect DIR` writes runs.parquet")
    names = arguments.value or ["stages"]
    diagrams = [phase_diagram(arguments.table, x=arguments.x, y=arguments.y, quantity=name) for name in names]
    write_and_say(diagram_sheet(diagrams), arguments.to)
    if arguments.json:
        print_json(
            [
                {"value": d.quantity, "x": d.x, "y": d.y, **{name: plain(getattr(d, name)) for name in COLUMNS}}
                for d in diagrams
            ]
        )
    return 0


COMMAND = Command("diagram", "draw a phase diagram over two config keys", add, run)
