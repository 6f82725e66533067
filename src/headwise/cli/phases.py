"""`headwise phases`: when the heads compete, when one leaves, and how sure that is; torch is not needed."""

from __future__ import annotations

import argparse

from headwise.cli.command import Command, print_result, refuse_extra, say_drawn
from headwise.cli.options import add_figure, add_json, path_argument
from headwise.core.errors import ConfigError


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", type=path_argument, nargs="+", metavar="RUN", help="a run directory; several are taken as seeds"
    )
    parser.add_argument(
        "--hide-groups",
        dest="groups",
        action="store_const",
        const="found",
        default="given",
        help="find the patterns in the attention instead of using the task's groups",
    )
    add_figure(parser, "also draw the timeline of one run")
    add_json(parser, "the report")
    parser.epilog = (
        "Three independent views are compared: the loss (plateaus and drops), function\n"
        "space (which predictor the model passes) and the heads (which pattern each\n"
        "copies). docs/detection.md says how far each can be trusted.\n\nexamples:\n"
        "  headwise phases runs/minimal/*-s0\n"
        "  headwise phases runs/minimal/*-s[0-4] --json\n"
    )


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    from headwise.phases.detection import detect, detect_seeds
    from headwise.store import load_trajectory

    if arguments.figure is not None and len(arguments.runs) > 1:
        raise ConfigError("--figure draws one run; give one RUN")
    trajectories = [load_trajectory(path) for path in arguments.runs]
    if len(trajectories) > 1:
        print_result(detect_seeds(trajectories, groups=arguments.groups), arguments)
        return 0
    report = detect(trajectories[0], groups=arguments.groups)
    if arguments.figure is not None:
        from headwise.view.figures import draw_phases

        draw_phases(trajectories[0], arguments.figure, report=report)
        say_drawn(arguments.figure)
    print_result(report, arguments)
    return 0


COMMAND = Command(
    "phases",
    "when the heads compete, when one leaves, and how sure that is",
    add,
    run,
    functions=(
        "detect",
        "detect_seeds",
        "draw_phases",
    ),
    instead={
        "runs": "detect(load(RUN)), detect_seeds([load(RUN), ...])",
        "figure": "draw_phases(RUN, to=FILE)",
    },
    words=("view", "stage", "phase", "pattern", "offshoot", "compensation", "competition index"),
)
