"""`headwise list`: the experiments, or the runs kept under a directory."""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path

from headwise.cli.command import Command, print_json, refuse_extra


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=Path, metavar="DIR", help="list the runs kept under DIR instead")
    parser.add_argument("--verify", action="store_true", help="with --runs: check every byte against its digest")
    parser.add_argument("--json", action="store_true", help="print the list as one JSON document")


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    return _list_runs(arguments) if arguments.runs is not None else _list_experiments(arguments)


def _list_experiments(arguments: argparse.Namespace) -> int:
    from headwise.study.experiments import EXPERIMENTS

    about = {name: inspect.getdoc(function) or "" for name, function in EXPERIMENTS.items()}
    if arguments.json:
        print_json([{"name": name, "presets": ["published", "text"], "about": text} for name, text in about.items()])
        return 0
    for name, text in about.items():
        first, *rest = text.splitlines()
        print(f"{name:<12} {first}")
        for line in rest:
            print(f"{'':<12} {line}".rstrip())
    return 0


def _list_runs(arguments: argparse.Namespace) -> int:
    from headwise.store import list_runs

    records = list_runs(arguments.runs, care="full" if arguments.verify else "quick")
    if arguments.json:
        print_json(
            [
                {
                    "run": str(record.path),
                    "experiment": record.experiment,
                    "seed": record.seed,
                    "status": record.status,
                    "steps": record.steps,
                    "bytes": record.size_bytes,
                }
                for record in records
            ]
        )
        return 0
    for record in records:
        size = f"{record.size_bytes / 1e6:.1f} MB"
        print(f"{record.status:<12} {record.steps:>7} steps {size:>10}  {record.path}")
    if not records:
        print(f"no runs under {arguments.runs}")
    return 0


COMMAND = Command("list", "the experiments, or the runs kept under a directory", add, run)
