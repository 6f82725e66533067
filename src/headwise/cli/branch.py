"""`headwise branch`: go on with a run from one of its steps, with something done to its heads."""

from __future__ import annotations

import argparse

from headwise.actions.text import ACTIONS
from headwise.cli.command import Command, print_result, say_drawn
from headwise.cli.options import add_figure, add_json, add_quiet, add_recover, path_argument
from headwise.cli.overrides import parse_overrides
from headwise.cli.progress import progress_display
from headwise.cli.seeds import parse_seeds
from headwise.cli.signals import stop_on_signal
from headwise.cli.streams import say
from headwise.core.errors import ConfigError
from headwise.core.text import definitions
from headwise.study.config import RunConfig

OPTIONS = ("--at", "--do", "--until", "--steps", "--seeds", "--out", "--figure", "--json", "--recover")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=path_argument, metavar="RUN", help="the run to branch from, its directory")
    parser.add_argument("--at", type=int, required=True, metavar="STEP", help="the step at which the branch begins")
    parser.add_argument(
        "--do", nargs="+", action="extend", default=[], metavar="ACTION", help="what is done, in order (see below)"
    )
    parser.add_argument(
        "--until", type=int, metavar="STEP", help="where actions that hold something end (default: with the branch)"
    )
    parser.add_argument("--steps", type=int, metavar="N", help="last step of the branch (default: its parent's)")
    parser.add_argument(
        "--seeds",
        type=parse_seeds,
        metavar="LIST",
        help="do the same to the run of each of these seeds, such as 0..4; those that are missing are trained first",
    )
    parser.add_argument(
        "--out", type=path_argument, metavar="DIR", help="folder that holds the branches (default: the one of RUN)"
    )
    add_recover(parser, "branch")
    add_figure(parser, "draw run and branch on one time axis")
    add_json(parser)
    add_quiet(parser)
    parser.epilog = (
        "actions, each with its keys as `name:key=value:key=value`; heads=1,2 and blocks=1 are counted from 1:\n"
        + definitions([(name, _summary(name)) for name in sorted(ACTIONS)], most=12)
        + "\n\nconfig keys are options too and change what the branch is trained on or how, from STEP on.\n\n"
        "examples:\n"
        "  headwise branch RUN --at 300 --do freeze:heads=2:part=values --until 700\n"
        "  headwise branch RUN --at 300 --do clamp:heads=1:to=group1 --seeds 0..4\n"
        "  headwise branch RUN --at 300 --task.m 1.3\n"
    )


def _summary(name: str) -> str:
    """The first line of the action's module, and its example."""
    import sys

    kind = ACTIONS[name]
    said = (sys.modules[kind.__module__].__doc__ or "").split(": ", 1)[1].rstrip(".\n")
    example = (kind.__doc__ or "").split("`")[1]
    return f"{said}; {example}"


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    changes = parse_overrides(extra, OPTIONS)
    if arguments.figure is not None and arguments.seeds is not None and len(arguments.seeds) > 1:
        raise ConfigError("--figure shows one run and its branch; give one seed, or headwise.draw_branches in Python")
    from headwise.study.branch import branch

    with stop_on_signal() as stop_asked, progress_display("quiet" if arguments.quiet else "auto") as report:
        found = branch(
            arguments.run,
            arguments.at,
            do=arguments.do,
            until=arguments.until,
            steps=arguments.steps,
            seeds=arguments.seeds,
            changes=changes,
            out=arguments.out,
            on_damage=arguments.on_damage,
            report=report,
            notify=say,
            stop_asked=stop_asked,
        )
    if arguments.figure is not None:
        from headwise.view.figures import draw_branches

        draw_branches([found.branches[0].parent_trajectory, found.branches[0].trajectory], arguments.figure)
        say_drawn(arguments.figure)
    print_result(found, arguments)
    return 0


COMMAND = Command(
    "branch",
    "go on with a run from one of its steps, with something done to its heads",
    add,
    run,
    functions=("branch", "draw_branches"),
    instead={"figure": "draw_branches([RUN, BRANCH], to=FILE)"},
    words=("head", "block", "group"),
    keys=RunConfig,
)
