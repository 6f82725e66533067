"""`headwise sweep`: many runs over a grid of config keys and seeds, on the cores here or on a cluster."""

from __future__ import annotations

import argparse
from typing import Any

from headwise.cli.command import Command, print_result, quietly
from headwise.cli.overrides import literal
from headwise.cli.seeds import parse_seeds
from headwise.cli.signals import stop_on_signal
from headwise.cli.streams import say
from headwise.cli.train import INSTEAD, add_experiment_arguments, resolve_arguments
from headwise.core.errors import ConfigError, SomeRunsFailed
from headwise.study.cluster_config import read_cluster
from headwise.study.config import RunConfig
from headwise.study.grid import split_values


def add(parser: argparse.ArgumentParser) -> None:
    add_experiment_arguments(parser)
    parser.add_argument(
        "--over",
        action="append",
        default=[],
        metavar="KEY=V1,V2",
        help="values of a config key; several --over give every combination",
    )
    parser.add_argument(
        "--zip",
        dest="zipped",
        action="append",
        default=[],
        metavar="KEY=V1,V2",
        help="values of config keys that change together",
    )
    parser.add_argument(
        "--seeds", type=parse_seeds, default=(0,), metavar="LIST", help="seeds, such as 0..9 or 0,2,5 (default: 0)"
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="runs computed side by side (default: 1)")
    parser.add_argument(
        "--executor",
        default="local",
        metavar="WHERE",
        help="where runs are computed: local (default), slurm or tcp://HOST:PORT",
    )
    parser.add_argument(
        "--cluster", type=read_cluster, metavar="FILE", help="a TOML file with a [cluster] section for slurm"
    )
    parser.add_argument("--dry-run", action="store_true", help="only print which runs there would be")
    parser.epilog = (
        "The same command again computes what is missing and nothing twice.\n\nexamples:\n"
        "  headwise sweep minimal --over task.m=1,1.3,1.5,1.7 --seeds 0..4 --workers 2\n"
        "  headwise sweep minimal --over task.m=1,1.7 --over train.lr=0.04,0.08 --dry-run\n"
        "  headwise sweep minimal --zip train.samples=600,2000 --zip train.batch=600,900\n"
    )


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    if any(argument.partition("=")[0] == "--seed" for argument in extra):
        raise ConfigError("--seed: a sweep takes --seeds, such as --seeds 3 or --seeds 0..4")
    config = resolve_arguments(arguments, extra)
    over, zipped = _axes(arguments.over, "--over"), _axes(arguments.zipped, "--zip")
    from headwise.study.sweep import plan_sweep, sweep

    if arguments.dry_run:
        plan = plan_sweep(
            config, over=over, zipped=zipped, seeds=arguments.seeds, workers=arguments.workers, out=arguments.out
        )
        say(plan.headline)
        print_result(plan, arguments)
        return 0
    with stop_on_signal() as stop_asked:
        swept = sweep(
            config,
            over=over,
            zipped=zipped,
            seeds=arguments.seeds,
            workers=arguments.workers,
            executor=arguments.executor,
            cluster=arguments.cluster,
            out=arguments.out,
            label=arguments.label,
            notify=say,
            ended=quietly(arguments),
            stop_asked=stop_asked,
        )
    print_result(swept, arguments)
    quietly(arguments)(swept.summary)
    for outcome in swept.failed:
        say(f"headwise: {outcome.status}: {outcome.run}: {outcome.reason}")
    if swept.failed:
        raise SomeRunsFailed(
            f"{len(swept.failed)} of {len(swept.outcomes)} runs did not finish; the others are complete"
        )
    return 0


def _axes(texts: list[str], option: str) -> dict[str, list[Any]]:
    axes: dict[str, list[Any]] = {}
    for text in texts:
        key, equals, values = text.partition("=")
        key = key.strip()
        if not equals:
            raise ConfigError(f"{option} {text}: give it as {option} KEY=V1,V2")
        if key in axes:
            raise ConfigError(f"{option} {key} is given twice; put its values in one list")
        axes[key] = [literal(value) for value in split_values(values)]
    return axes


COMMAND = Command(
    "sweep",
    "train over a grid of settings and seeds",
    add,
    run,
    functions=(
        "sweep",
        "plan_sweep",
        "experiment",
    ),
    instead={
        **INSTEAD,
        "dry_run": "plan_sweep(CONFIG)",
    },
    words=("reading",),
    keys=RunConfig,
)
