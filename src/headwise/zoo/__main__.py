"""`python -m headwise.zoo train|truth|score|page`: train, count what happened, score the report, write the page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from headwise.core.errors import HeadwiseError

PARTS = ("development", "held-out")


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments and do one of the four."""
    parser = argparse.ArgumentParser(prog="python -m headwise.zoo", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train", help="train every run of a part that is not stored yet")
    train.add_argument("--workers", type=int, default=1, help="processes")
    truth = commands.add_parser("truth", help="count the true events of the stored runs")
    for command in (train, truth):
        command.add_argument("--out", type=Path, default=Path("runs/zoo"), help="where runs are stored")
        command.add_argument("--part", choices=PARTS, default="development")
        command.add_argument("--kinds", nargs="+", metavar="KIND", help="only these kinds")
    given = parser.parse_args(arguments)
    try:
        return {"train": _train, "truth": _truth}[given.command](given)
    except HeadwiseError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


def _train(given: argparse.Namespace) -> int:
    from headwise.zoo.kinds import MODULES
    from headwise.zoo.train import train_zoo

    made = train_zoo(given.out, part=given.part, kinds=given.kinds or MODULES, workers=given.workers)
    print(f"trained {len(made)} runs")
    return 0


def _truth(given: argparse.Namespace) -> int:
    from headwise.zoo.census import count_events

    print(count_events(given.out / given.part, kinds=given.kinds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
