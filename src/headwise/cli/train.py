"""`headwise train`: one run from an experiment's config; the same command again resumes it."""

from __future__ import annotations

import argparse
from typing import Any

from headwise.cli.command import Command, print_json, print_result
from headwise.cli.options import add_json, add_quiet, add_recover, add_runs_folder, path_argument
from headwise.cli.overrides import describe_keys, literal, parse_overrides, read_config_file
from headwise.cli.progress import progress_display
from headwise.cli.signals import stop_on_signal
from headwise.cli.streams import say
from headwise.study.config import RunConfig
from headwise.study.experiments import EXPERIMENTS, experiment

SHORTCUTS = {
    "seed": "seed",
    "steps": "train.steps",
    "init_scale": "model.init_scale",
    "path": "compute.path",
    "device": "compute.device",
    "threads": "compute.threads",
}
"""Short options and the config keys they stand for."""

INSTEAD = {
    "experiment": "experiment(NAME)",
    "preset": "experiment(NAME, PRESET)",
    "config": "experiment(NAME, changes=tomllib.load(FILE))",
    **{name: f'experiment(NAME, changes={{"{key}": ...}})' for name, key in SHORTCUTS.items() if name != "seed"},
}
"""What one writes in Python for the options of every command that trains."""


def add(parser: argparse.ArgumentParser) -> None:
    add_experiment_arguments(parser)
    parser.add_argument("--seed", metavar="N", help="seed of everything random in the run (default: 0)")
    parser.add_argument(
        "--dry-run", action="store_true", help="only print the whole config and where the run would be kept"
    )
    add_recover(parser)
    parser.epilog = (
        "config keys, with their values for `minimal` (each can be given as an option):\n"
        + describe_keys(experiment("minimal"))
        + "\n\nexamples:\n"
        "  headwise train minimal --steps 1000\n"
        "  headwise train minimal --preset redrawn --task.d 20 --seed 3\n"
        "  headwise train full --train.batch 500 --measure.windows 4 8\n"
    )


def add_experiment_arguments(parser: argparse.ArgumentParser) -> None:
    """What every command that trains takes."""
    parser.add_argument("experiment", metavar="EXPERIMENT", help=f"one of: {', '.join(EXPERIMENTS)}")
    parser.add_argument(
        "--preset",
        choices=("published", "redrawn", "text"),
        help="reading of the paper: published (default), redrawn (a task of its own per seed) or text",
    )
    parser.add_argument("--config", type=path_argument, metavar="FILE", help="a TOML file of config keys")
    parser.add_argument("--steps", metavar="N", help="short for --train.steps")
    parser.add_argument("--init-scale", metavar="U", help="short for --model.init_scale")
    add_runs_folder(parser)
    parser.add_argument("--label", metavar="WORDS", help="what lists and pages call the run; not part of its name")
    parser.add_argument(
        "--path", metavar="PATH", help="code that computes the model: auto (default), kernel, torch or reference"
    )
    parser.add_argument("--device", metavar="NAME", help="torch device (default: cpu)")
    parser.add_argument("--threads", metavar="N", help="threads of one run (default: 1)")
    add_json(parser)
    add_quiet(parser)


def resolve_arguments(arguments: argparse.Namespace, extra: list[str]) -> RunConfig:
    """Experiment, then config file, then options: the later one wins."""
    values: dict[str, Any] = read_config_file(arguments.config) if arguments.config else {}
    preset = values.pop("preset", "published")
    values.pop("experiment", None)
    short = {key: getattr(arguments, option, None) for option, key in SHORTCUTS.items()}
    options = [f"--{option.replace('_', '-')}" for option in (*SHORTCUTS, "preset", "config", "out", "json", "recover")]
    overrides = parse_overrides(extra, options)
    given = {key: literal(text) for key, text in short.items() if text is not None}
    return experiment(arguments.experiment, arguments.preset or preset, changes={**values, **overrides, **given})


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    config = resolve_arguments(arguments, extra)
    from headwise.study.summary import show

    if arguments.dry_run:
        from headwise.study.run_location import run_location

        print_json({"run": str(run_location(config, arguments.out)), "config": config.model_dump(mode="json")})
        return 0
    from headwise.study.runner import execute

    with stop_on_signal() as stop_asked, progress_display("quiet" if arguments.quiet else "auto") as report:
        finished = execute(
            config,
            arguments.out,
            report=report,
            notify=say,
            stop_asked=stop_asked,
            on_damage=arguments.on_damage,
            label=arguments.label,
        )
    summary = show(finished.path)
    print_result(summary, arguments)
    if summary.status == "diverged":
        say(f"headwise: the loss became infinite at step {summary.steps}; the last finite state is kept")
        return 1
    return 0


COMMAND = Command(
    "train",
    "train one model and keep everything it did",
    add,
    run,
    functions=(
        "train",
        "experiment",
        "show",
    ),
    instead={
        **INSTEAD,
        "seed": 'experiment(NAME, changes={"seed": ...})',
        "dry_run": "headwise.study.run_location.run_location(CONFIG, OUT)",
    },
    words=("reading", "prefix predictor"),
    keys=RunConfig,
)
