"""`headwise reproduce`: compute what claims and figures of the paper need, draw them and say whether they hold."""

from __future__ import annotations

import argparse
from pathlib import Path

from headwise.cli.command import Command, print_result, quietly, refuse_extra
from headwise.cli.options import add_json, add_quiet, add_runs_folder, path_argument
from headwise.cli.seeds import parse_seeds
from headwise.cli.signals import stop_on_signal
from headwise.cli.streams import say
from headwise.core.errors import ConfigError


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", default=(), metavar="NAME", help="claims and figures (default: the headline set)"
    )
    parser.add_argument(
        "--set",
        choices=("paper", "causal"),
        default="paper",
        help="the paper's own claims and figures (default), or causal claims about heads, tested by branches",
    )
    parser.add_argument("--all", action="store_true", help="every claim and figure")
    parser.add_argument("--list", action="store_true", help="only list the claims and figures")
    parser.add_argument(
        "--preset",
        choices=("published", "redrawn", "text", "both", "all"),
        default="published",
        help="reading of the paper (default: published); both: without redrawn",
    )
    parser.add_argument(
        "--scale", choices=("quick", "paper"), default="quick", help="minutes (default), or the paper's sizes"
    )
    parser.add_argument(
        "--seeds",
        type=parse_seeds,
        metavar="LIST",
        help="such as 0..4 (default: 0..2 at quick scale, 6..8 at paper scale; one for variations of the full decoder)",
    )
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="runs at a time (default: 2)")
    add_runs_folder(parser)
    parser.add_argument(
        "--into",
        type=path_argument,
        default=Path("reproduction"),
        metavar="DIR",
        help="folder for figures and verdicts (default: reproduction)",
    )
    parser.add_argument(
        "--run",
        type=path_argument,
        metavar="DIR",
        help="judge one stored run instead (default: order, competition, offshoot, specialisation)",
    )
    parser.add_argument(
        "--dry-run",
        dest="missing",
        action="store_const",
        const="leave",
        default="compute",
        help="say what is decided and which runs are missing, and judge what is there",
    )
    parser.add_argument(
        "--undecided",
        action="store_true",
        help="leave out what --into or --stored has: verdicts by the present tests on these seeds, and figures of them",
    )
    parser.add_argument(
        "--stored",
        type=path_argument,
        metavar="DIR",
        help="results that others computed (default: results/paper or results/quick, by --scale, where it exists)",
    )
    add_json(parser, "the verdicts")
    add_quiet(parser)


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    if arguments.all and arguments.names:
        raise ConfigError(f"--all is everything; leave out {' '.join(arguments.names)} or --all")
    if arguments.list:
        from headwise.paper.claim_list import list_claims

        print_result(list_claims(arguments.scale), arguments)
        return 0
    if arguments.set == "causal":
        return _causal(arguments)
    from headwise.paper.reproduce import judge, reproduce

    if arguments.run is not None:
        print_result(judge(arguments.run, arguments.names), arguments)
        return 0
    found = reproduce(
        "all" if arguments.all else arguments.names,
        preset=arguments.preset,
        scale=arguments.scale,
        seeds=arguments.seeds,
        workers=arguments.workers,
        out=arguments.out,
        into=arguments.into,
        missing=arguments.missing,
        undecided=arguments.undecided,
        stored=arguments.stored,
        notify=say,
        progress=quietly(arguments),
        while_computing=stop_on_signal,
    )
    print_result(found, arguments)
    say(f"wrote {found.file}")
    say(f"wrote {found.page}: open it in a browser; each verdict opens its figure and numbers")
    for outcome in found.failed:
        say(f"headwise: {outcome.run} {outcome.status}: {outcome.reason}")
    return 4 if found.failed else 0


def _causal(arguments: argparse.Namespace) -> int:
    given = {
        "--dry-run": arguments.missing == "leave",
        "--undecided": arguments.undecided,
        "--stored": arguments.stored is not None,
        "--run": arguments.run is not None,
    }
    if ignored := [option for option, there in given.items() if there]:
        raise ConfigError(f"--set causal has no {', '.join(ignored)}; leave it out, or --set")
    from headwise.paper.causal.run import reproduce_causal

    with stop_on_signal() as stop_asked:
        found = reproduce_causal(
            arguments.names,
            scale=arguments.scale,
            seeds=arguments.seeds,
            workers=arguments.workers,
            out=arguments.out,
            into=arguments.into,
            notify=quietly(arguments),
            stop_asked=stop_asked,
        )
    print_result(found, arguments)
    say(f"wrote {found.file}")
    return 0


COMMAND = Command(
    "reproduce",
    "every figure and claim of the paper, with a verdict",
    add,
    run,
    functions=(
        "reproduce",
        "judge",
        "list_claims",
    ),
    instead={
        "all": 'reproduce("all")',
        "set": "headwise.paper.causal.run.reproduce_causal(NAMES)",
        "list": "list_claims()",
        "run": "judge(RUN)",
    },
    words=("reading",),
)
