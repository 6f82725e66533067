"""`headwise flow`: the regression flow of §3 as a stored run, with its stage times beside the predicted ones."""

from __future__ import annotations

import argparse

from headwise.cli.command import Command, print_result, say_drawn
from headwise.cli.options import add_figure, add_json, add_runs_folder, figure_file
from headwise.cli.overrides import describe_keys, literal, parse_overrides
from headwise.cli.seeds import parse_seed, parse_seeds
from headwise.cli.streams import say
from headwise.core.errors import ConfigError
from headwise.flow.config import FlowConfig
from headwise.flow.presets import PRESETS, flow_preset

SHORTCUTS = ("start", "noise", "system", "t_end")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--start", metavar="A|B|noise", help="q = 0, the fixed perturbation B, or q = 0 plus noise")
    parser.add_argument("--noise", metavar="KIND", help="logit, s-std, s-cov or none")
    parser.add_argument("--system", metavar="NAME", help="heads, coupled, cooperative, two-scale, nth-head, two-group")
    parser.add_argument("--t-end", metavar="T", help="end time (default: 3000)")
    parser.add_argument(
        "--preset",
        choices=tuple(PRESETS),
        help="a reading of the paper's simulation (default: neither, the flow that fits the paper's stage boundaries)",
    )
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument(
        "--seed", type=parse_seed, default=0, metavar="N", help="seed of the noise and of drawn features (default: 0)"
    )
    seeds.add_argument(
        "--seeds",
        type=parse_seeds,
        metavar="LIST",
        help="solve for several seeds, such as 0..99, and print a table instead of keeping a run",
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes for --seeds (default: 1)")
    add_runs_folder(parser)
    add_figure(parser, "draw attention, values and loss")
    parser.add_argument(
        "--overlay",
        type=figure_file,
        metavar="FILE",
        help="draw the theory over the flow, with the numbers beside it as CSV; deviations are printed",
    )
    add_json(parser)
    parser.epilog = (
        "config keys of a flow, with their defaults (each can be given as an option):\n"
        + describe_keys(FlowConfig())
        + (
            "\n\nexamples:\n"
            "  headwise flow --start B\n"
            "  headwise flow --m 1.3 --T 20 --seed 4 --figure flow.png\n"
            "  headwise flow --seeds 0..99 --workers 2\n"
        )
    )


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    options = [f"--{name.replace('_', '-')}" for name in (*SHORTCUTS, "preset", "seed", "seeds", "out", "figure")]
    values = parse_overrides(extra, options, FlowConfig)
    values |= {name: literal(text) for name in SHORTCUTS if (text := getattr(arguments, name)) is not None}
    if arguments.noise is not None:
        values["noise"] = arguments.noise
    config = flow_preset(arguments.preset).changed(values)
    if arguments.seeds is not None:
        return _solve_seeds(config, arguments)
    return _solve_one(config, arguments)


def _solve_one(config: FlowConfig, arguments: argparse.Namespace) -> int:
    from headwise.study.flows import keep_flow

    flow = keep_flow(config, arguments.seed, out=arguments.out)
    if arguments.figure is not None:
        from headwise.view.figures import draw_run

        draw_run(flow.trajectory, arguments.figure)
        say_drawn(arguments.figure)
    if arguments.overlay is not None:
        from headwise.view.figures import draw_theory

        draw_theory(config, arguments.seed, arguments.overlay, notify=say)
        say_drawn(arguments.overlay)
    print_result(flow, arguments)
    return 0


def _solve_seeds(config: FlowConfig, arguments: argparse.Namespace) -> int:
    from headwise.flow.seeds import simulate_seeds

    for option in ("figure", "overlay"):
        if getattr(arguments, option) is not None:
            raise ConfigError(f"--{option} and --seeds exclude each other; give one")
    found = simulate_seeds(
        arguments.seeds,
        config,
        workers=arguments.workers,
        progress=lambda done, total: say(f"{done}/{total} flows"),
    )
    print_result(found, arguments)
    return 0


COMMAND = Command(
    "flow",
    "solve the regression flow of §3 and keep it as a run",
    add,
    run,
    functions=(
        "keep_flow",
        "simulate",
        "simulate_seeds",
        "flow_preset",
        "draw_run",
        "draw_theory",
    ),
    instead={
        **{name: f'flow_preset().changed({{"{name}": ...}})' for name in SHORTCUTS},
        "figure": "draw_run(keep_flow().trajectory, to=FILE)",
        "overlay": "draw_theory(to=FILE)",
    },
    words=("reading", "stage", "offshoot"),
    keys=FlowConfig,
)
