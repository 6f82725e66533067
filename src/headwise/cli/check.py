"""`headwise check`: every statement of the paper, as printed and as corrected, tested on random instances."""

from __future__ import annotations

import argparse
import sys

from headwise.cli.command import Command, print_json, refuse_extra


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="statements to check (default: all); see --list")
    parser.add_argument("--trials", type=int, default=20, metavar="N", help="random instances per check (default: 20)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the instances (default: 0)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("--list", action="store_true", dest="only_list", help="only name the statements")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    from headwise.core.errors import ConfigError
    from headwise.theory.document import check_document
    from headwise.theory.registry import all_corrected_hold, run_checks, statement_names, to_table

    if arguments.only_list:
        print("\n".join(statement_names()))
        return 0
    if arguments.workers < 1:
        raise ConfigError(f"--workers {arguments.workers} must be at least 1")

    def progress(done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{done}/{total} statements", end="\n" if done == total else "", file=sys.stderr, flush=True)

    results = run_checks(
        arguments.names, trials=arguments.trials, seed=arguments.seed, workers=arguments.workers, progress=progress
    )
    if arguments.json:
        print_json(check_document(results, trials=arguments.trials, seed=arguments.seed))
    else:
        print(to_table(results))
    return 0 if all_corrected_hold(results) else 1


COMMAND = Command("check", "test every statement of the paper, as printed and as corrected", add, run)
