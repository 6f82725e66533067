"""`headwise list`: the experiments, or the runs kept under a directory."""

from __future__ import annotations

import argparse

from headwise.cli.command import Command, print_result, refuse_extra
from headwise.cli.options import add_json, path_argument
from headwise.cli.progress import counted


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
    parser.add_argument(
        "--sort",
        default="experiment",
        metavar="COLUMN",
        help="with --runs: seed, status, steps, loss, stages, age, size or a config key",
    )
    parser.add_argument("--reverse", action="store_true", help="with --sort: the largest first")
    parser.add_argument(
        "--no-stages",
        dest="stages",
        action="store_false",
        help="with --runs: read no curves, which is faster where there are thousands of runs",
    )
    add_json(parser, "the list")


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    if arguments.runs is None:
        from headwise.study.experiment_list import list_experiments

        print_result(list_experiments(), arguments)
    else:
        from headwise.study.run_table import list_runs

        runs = list_runs(
            arguments.runs,
            care=arguments.care,
            sort=arguments.sort,
            reverse=arguments.reverse,
            stages=arguments.stages,
            progress=counted("runs read"),
        )
        print_result(runs, arguments)
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
