"""`headwise list`: the experiments, or the runs kept under a directory."""

from __future__ import annotations

import argparse

from headwise.cli.command import Command, path_argument, print_result, refuse_extra


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=path_argument, metavar="DIR", help="list the runs kept under DIR instead")
    parser.add_argument(
        "--verify",
        dest="care",
        action="store_const",
        const="full",
        default="quick",
        help="with --runs: check every byte against its digest",
    )
    parser.add_argument("--json", action="store_true", help="print the list as one JSON document")


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    if arguments.runs is None:
        from headwise.study.experiment_list import list_experiments

        print_result(list_experiments(), arguments)
    else:
        from headwise.store import list_runs

        print_result(list_runs(arguments.runs, care=arguments.care), arguments)
    return 0


COMMAND = Command(
    "list",
    "the experiments, or the runs kept under a directory",
    add,
    run,
    functions=(
        "list_experiments",
        "list_runs",
    ),
    instead={
        "runs": "list_runs(DIR)",
    },
)
