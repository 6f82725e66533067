"""`headwise schema`: the JSON Schema of a config, for editors of TOML files."""

from __future__ import annotations

import argparse
from typing import get_args

from headwise.cli.command import Command, refuse_extra
from headwise.cli.streams import put
from headwise.study.config_schema import SchemaOf, config_schema


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "of",
        nargs="?",
        choices=get_args(SchemaOf),
        default="run",
        help="run: a --config file (default); flow: the keys of `headwise flow`; cluster: a --cluster file",
    )
    parser.epilog = (
        "An editor that knows JSON Schema then completes and checks the keys of a TOML file; one based on Taplo takes\n"
        "the schema from the file's first line.\n\nexample:\n"
        "  headwise schema > headwise.schema.json\n"
        "  echo '#:schema ./headwise.schema.json' > mine.toml\n"
    )


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    put(str(config_schema(arguments.of)))
    return 0


COMMAND = Command("schema", "the JSON Schema of a config file", add, run, functions=("config_schema",))
