"""`headwise reproduce`: runs what figures and claims of the paper need, draws them and says whether they hold."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from headwise.cli.command import Command, print_json, refuse_extra, say
from headwise.core.errors import ConfigError

if TYPE_CHECKING:
    from headwise.paper.plan import Plan
    from headwise.paper.verdict import Verdict
    from headwise.study.many import Outcome

FILE_WIDTH = 140
"""Columns of the table where there is no terminal to ask."""

ON_ONE_RUN = ("order", "competition", "offshoot", "specialisation")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="claims and figures (default: the headline set)")
    parser.add_argument("--all", action="store_true", help="everything in the manifest")
    parser.add_argument("--list", action="store_true", help="show the manifest and do nothing")
    parser.add_argument(
        "--preset", choices=("published", "text", "both"), default="published", help="reading of the paper"
    )
    parser.add_argument("--scale", choices=("quick", "paper"), default="quick", help="minutes, or the paper's sizes")
    parser.add_argument("--seeds", metavar="LIST", help="such as 0..4 (default: 0..2; 0 for the full decoder)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="runs at a time (default: 2)")
    parser.add_argument("--out", type=Path, default=Path("runs"), metavar="DIR", help="root of runs (default: runs)")
    parser.add_argument(
        "--into", type=Path, default=Path("reproduction"), metavar="DIR", help="figures and verdicts go here"
    )
    parser.add_argument(
        "--run", type=Path, metavar="DIR", help=f"judge one stored run instead (default: {', '.join(ON_ONE_RUN)})"
    )
    parser.add_argument("--dry-run", action="store_true", help="say which runs are missing and judge what is there")
    parser.add_argument("--json", action="store_true", help="print the verdicts as one JSON document")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    if arguments.list:
        return _list(arguments)
    if arguments.run is not None:
        return _judge_one(arguments)
    from headwise.cli.seeds import parse_seeds
    from headwise.paper.manifest import ENTRIES, HEADLINE, select
    from headwise.paper.plan import Plan, describe
    from headwise.paper.reproduce import write_results
    from headwise.store import check_writable

    if arguments.workers < 1:
        raise ConfigError(f"--workers {arguments.workers}: at least 1")
    if arguments.all and arguments.names:
        raise ConfigError(f"--all is everything; leave out {' '.join(arguments.names)} or --all")
    names = arguments.names or (list(ENTRIES) if arguments.all else list(HEADLINE))
    plan = Plan(
        entries=tuple(select(names)),
        presets=("published", "text") if arguments.preset == "both" else (arguments.preset,),
        scale=arguments.scale,
        seeds=None if arguments.seeds is None else tuple(parse_seeds(arguments.seeds)),
        out=arguments.out,
    )
    if not any(plan.pairs()):
        raise ConfigError(f"--preset {arguments.preset}: {', '.join(names)} is made in the other reading only")
    check_writable(arguments.out)
    check_writable(arguments.into, "--into")
    unfinished = plan.unfinished()
    say(describe(plan, unfinished, arguments.workers))
    failed: list[Outcome] = []
    if arguments.dry_run:
        for config in unfinished:
            say(f"missing: {config.experiment} ({config.preset}) seed {config.seed}")
    elif unfinished:
        failed = _compute(plan, arguments)
    results = write_results(
        plan,
        arguments.into,
        command=shlex.join(["headwise", *sys.argv[1:]]),
        missing=unfinished if arguments.dry_run else (),
        notify=(lambda line: None) if arguments.quiet else say,
    )
    _show(results.verdicts, arguments)
    say(f"wrote {results.file}")
    say(f"wrote {results.page}: open it in a browser; each verdict opens its figure and numbers")
    for outcome in failed:
        say(f"headwise: {outcome.run} {outcome.status}: {outcome.reason}")
    return 4 if failed else 0


def _compute(plan: Plan, arguments: argparse.Namespace) -> list[Outcome]:
    """Compute what is missing; the runs that failed."""
    from headwise.study.cost import estimate_seconds, readable
    from headwise.study.executors import open_pool
    from headwise.study.many import run_on_pool
    from headwise.study.run_location import run_location

    todo = plan.unfinished()
    expected = {run_location(config, plan.out): estimate_seconds(config) for config in todo}
    total, begun = sum(expected.values()), time.monotonic()
    done: list[Outcome] = []

    def ended(outcome: Outcome) -> None:
        done.append(outcome)
        share = sum(expected.get(one.run, 0.0) for one in done) / total
        spent = time.monotonic() - begun
        left = readable(spent / share - spent) if share > 0 else "?"
        why = f" ({outcome.reason})" if outcome.reason else ""
        if not arguments.quiet:
            say(f"[{len(done)}/{len(todo)}] {outcome.status} {outcome.run}{why}  {share:.0%} of the work, {left} left")

    # One worker computes while it submits: run by run, so that each is reported when it ends.
    batches = [[config] for config in todo] if arguments.workers == 1 else [todo]
    for batch in batches:
        run_on_pool(
            batch,
            plan.out,
            pool=lambda: open_pool("local", workers=arguments.workers),
            argv=sys.argv,
            ended=ended,
            notify=say,
        )
    return [outcome for outcome in done if outcome.status == "failed"]


def _judge_one(arguments: argparse.Namespace) -> int:
    from headwise.paper.entry import Claim
    from headwise.paper.judge import judge_run
    from headwise.paper.manifest import select

    chosen = select(arguments.names or list(ON_ONE_RUN))
    for entry in chosen:
        if not isinstance(entry, Claim):
            raise ConfigError(f"{entry.name} is a {entry.kind}; --run judges claims")
    verdicts = judge_run(arguments.run, [entry for entry in chosen if isinstance(entry, Claim)])
    _show(verdicts, arguments)
    return 0


def _show(verdicts: list[Verdict], arguments: argparse.Namespace) -> None:
    if arguments.json:
        from headwise.paper.verdict_file import to_document

        print_json(to_document(verdicts))
        return
    if not verdicts:
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title="verdicts", title_justify="left")
    for column in ("claim", "reading", "verdict", "measured", "published", "threshold"):
        table.add_column(column, no_wrap=column in ("claim", "reading"), overflow="fold")
    for one in verdicts:
        published = "" if one.published is None else f"{one.published:.3g}"
        table.add_row(one.claim, one.preset, one.text, one.numbers, published, one.threshold)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else FILE_WIDTH)
    console.print(table)
    for one in verdicts:
        if one.outcome != "reproduced" and one.notes:
            for seed, note in one.notes.items():
                console.print(f"{one.claim} ({one.preset}), seed {seed}: {note}", soft_wrap=True)


def _list(arguments: argparse.Namespace) -> int:
    from headwise.paper.manifest import ENTRIES, HEADLINE
    from headwise.paper.plan import cost
    from headwise.study.cost import readable

    if arguments.json:
        print_json(
            [
                {
                    "name": entry.name,
                    "kind": entry.kind,
                    "label": entry.label,
                    "cost": round(cost(entry, arguments.scale), 1),
                    "about": entry.about,
                    "experiments": list(entry.experiments),
                    "headline": entry.name in HEADLINE,
                }
                for entry in ENTRIES.values()
            ]
        )
        return 0
    for entry in ENTRIES.values():
        mark = "*" if entry.name in HEADLINE else " "
        spent = readable(cost(entry, arguments.scale))
        print(f"{mark} {entry.name:<20} {entry.kind:<7} {spent:>7}  {entry.about}  [{entry.label}]")
    print(f"* headline set; times are for one seed at {arguments.scale} scale on one thread")
    return 0


COMMAND = Command("reproduce", "every figure and claim of the paper, with a verdict", add, run)
