"""`headwise sweep`: many runs over a grid of config keys and seeds, on the cores here or on a cluster."""

from __future__ import annotations

import argparse
import sys
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headwise.cli.command import Command, print_json, say
from headwise.cli.overrides import literal
from headwise.cli.seeds import parse_seeds
from headwise.cli.train import add_experiment_arguments, resolve_arguments
from headwise.core.config import validated
from headwise.core.errors import ConfigError, SomeRunsFailed
from headwise.study.cluster_config import ClusterConfig
from headwise.study.config import RunConfig, config_hash
from headwise.study.grid import plan_points, split_values


def add(parser: argparse.ArgumentParser) -> None:
    add_experiment_arguments(parser)
    parser.add_argument(
        "--over", action="append", default=[], metavar="KEY=V1,V2", help="a grid axis; several multiply"
    )
    parser.add_argument("--zip", action="append", default=[], metavar="KEY=V1,V2", help="axes that advance together")
    parser.add_argument("--seeds", default="0", metavar="LIST", help="such as 0..9 or 0,2,5 (default: 0)")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="runs computed side by side (default: 1)")
    parser.add_argument("--executor", default="local", metavar="WHERE", help="local, slurm or tcp://HOST:PORT")
    parser.add_argument("--cluster", type=Path, metavar="FILE", help="a TOML file with a [cluster] section for slurm")
    parser.add_argument("--dry-run", action="store_true", help="only print the plan")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        "The same command again computes what is missing and nothing twice.\n\nExamples:\n"
        "  headwise sweep minimal --over task.m=1,1.3,1.5,1.7 --seeds 0..4 --workers 2\n"
        "  headwise sweep minimal --over task.m=1.3,1.7 --over model.init_scale=1e-9,1e-3 --steps 800 --dry-run\n"
        "  headwise sweep minimal --zip train.samples=600,2000,9000 --zip train.batch=600,2000,3000 --workers 2\n"
    )


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    configs = planned(arguments, extra)
    from headwise.study.cost import estimate_wall, readable
    from headwise.study.many import missing, run_on_pool, with_prerequisites
    from headwise.study.run_location import run_location

    whole = with_prerequisites(configs)
    left = missing(whole, arguments.out)
    wall = readable(estimate_wall(left, arguments.workers))
    say(f"{len(configs)} runs, {len(whole) - len(configs)} more to compare with; {len(left)} to compute, about {wall}")
    if arguments.dry_run:
        paths = [str(run_location(config, arguments.out)) for config in configs]
        if arguments.json:
            print_json({"runs": paths, "to_compute": len(left), "seconds": estimate_wall(left, arguments.workers)})
        else:
            print("\n".join(paths))
        return 0
    from headwise.store import check_writable
    from headwise.study.executors import open_pool

    check_writable(arguments.out)
    began, done = time.monotonic(), 0

    def ended(outcome: Any) -> None:
        nonlocal done
        done += 1
        if not arguments.quiet:
            reason = f"  ({outcome.reason})" if outcome.reason else ""
            say(f"{done}/{len(left)}  {outcome.status}  {outcome.run}{reason}  {time.monotonic() - began:.0f} s")

    outcomes = run_on_pool(
        configs,
        arguments.out,
        pool=lambda: open_pool(
            arguments.executor, workers=arguments.workers, cluster=cluster_settings(arguments.cluster)
        ),
        argv=sys.argv,
        ended=ended,
        notify=say,
    )
    if arguments.json:
        print_json({"runs": [{"run": str(o.run), "status": o.status, "reason": o.reason} for o in outcomes]})
    failed = [outcome for outcome in outcomes if outcome.status != "finished"]
    for outcome in failed:
        say(f"headwise: {outcome.status}: {outcome.run}: {outcome.reason}")
    if failed:
        raise SomeRunsFailed(f"{len(failed)} of {len(outcomes)} runs did not finish; the others are complete")
    return 0


def planned(arguments: argparse.Namespace, extra: list[str]) -> list[RunConfig]:
    """Every config of the sweep, checked before anything starts."""
    if arguments.workers < 1:
        raise ConfigError(f"--workers {arguments.workers} must be at least 1")
    if any(argument.partition("=")[0] == "--seed" for argument in extra):
        raise ConfigError("--seed: a sweep takes --seeds, such as --seeds 3 or --seeds 0..4")
    base = resolve_arguments(arguments, extra)
    points = plan_points(_axes(arguments.over, "--over"), _axes(arguments.zip, "--zip"))
    seeds = parse_seeds(arguments.seeds)
    resolved = [base.changed(point) for point in points]
    places: dict[str, Mapping[str, Any]] = {}
    for point, config in zip(points, resolved, strict=True):
        same = places.setdefault(config_hash(config), point)
        if same is not point:
            raise ConfigError(f"the points {_shown(same)} and {_shown(point)} are the same run; name each once")
    return [config.changed({"seed": seed}) for config in resolved for seed in seeds]


def _shown(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in point.items())


def cluster_settings(path: Path | None) -> ClusterConfig | None:
    """The `[cluster]` section of a TOML file."""
    if path is None:
        return None
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"--cluster {path}: {str(error).splitlines()[0]}") from None
    return validated(ClusterConfig, content.get("cluster", {}))


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


COMMAND = Command("sweep", "train over a grid of settings and seeds", add, run)
