"""`python -m headwise.zoo train|truth|additions|score|page`: train, count what happened, score the report, write the
page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headwise.core.errors import ConfigError, HeadwiseError

PARTS = ("development", "held-out")
FIRST = "held-out-first.json"
"""Scores of the held-out part when it was looked at first, where it was scored again after a change."""
ADDITIONS = "additions.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments and do one of the five."""
    parser = argparse.ArgumentParser(prog="python -m headwise.zoo", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train", help="train every run of a part that is not stored yet")
    train.add_argument("--workers", type=int, default=1, help="processes")
    truth = commands.add_parser("truth", help="count the true events of the stored runs")
    additions = commands.add_parser("additions", help="how near the stored runs come to a clear addition")
    additions.add_argument("--scores", type=Path, default=Path("results/zoo"), help="where the numbers are written")
    score = commands.add_parser("score", help="compare the report with the truth, run by run")
    score.add_argument("--workers", type=int, default=1, help="processes")
    score.add_argument("--scores", type=Path, default=Path("results/zoo"), help="where the scores are written")
    page = commands.add_parser("page", help="write the zoo's section of a page from the stored scores")
    page.add_argument("page", nargs="?", type=Path, default=Path("docs/detection.md"))
    page.add_argument("--scores", type=Path, default=Path("results/zoo"), help="where the scores are")
    for command in (train, truth, additions, score):
        command.add_argument("--out", type=Path, default=Path("runs/zoo"), help="where runs are stored")
        command.add_argument("--part", choices=PARTS, default="development")
        command.add_argument("--kinds", nargs="+", metavar="KIND", help="only these kinds")
    given = parser.parse_args(arguments)
    try:
        act = {"train": _train, "truth": _truth, "additions": _additions, "score": _score, "page": _page}
        return act[given.command](given)
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


def _additions(given: argparse.Namespace) -> int:
    from headwise.core.atomic import replace_file
    from headwise.zoo.additions import count_additions

    path = given.scores / ADDITIONS
    found = count_additions(given.out / given.part, part=given.part)
    replace_file(path, json.dumps(found, indent=1) + "\n", option="--scores")
    print(f"wrote {path}", file=sys.stderr)
    return 0


def _score(given: argparse.Namespace) -> int:
    from headwise.core.atomic import replace_file
    from headwise.zoo.functions.score import score_functions
    from headwise.zoo.score import score_zoo

    path = given.scores / f"{given.part}.json"
    if given.part == "held-out" and path.exists():
        raise ConfigError(
            f"{path} is there, and the held-out part is scored once; choose another --scores to look again"
        )
    found = score_zoo(given.out / given.part, part=given.part, kinds=given.kinds, workers=given.workers)
    found["functions"] = score_functions(given.out / given.part, kinds=given.kinds)
    replace_file(path, json.dumps(found, indent=1) + "\n", option="--scores")
    for what, one in found["events"].items():
        precision, recall = (one[name]["value"] for name in ("precision", "recall"))
        print(f"{what}: {one['clear']} clear, precision {_percent(precision)}, recall {_percent(recall)}")
    one = found["functions"]["all"]
    print(
        f"nearest predictor: {one['clear']} clear, precision {_percent(one['precision']['value'])}, "
        f"recall {_percent(one['recall']['value'])}"
    )
    print(f"silent where nothing happens: {_percent(found['nothing']['all']['silent']['value'])}")
    print(f"wrote {path}", file=sys.stderr)
    return 0


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _if_there(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _page(given: argparse.Namespace) -> int:
    from headwise.core.atomic import replace_file
    from headwise.core.markdown import with_section
    from headwise.zoo.page import render

    files = [path for part in PARTS if (path := given.scores / f"{part}.json").is_file()]
    if not files:
        raise ConfigError(f"{given.scores} has no scores; make them first: python -m headwise.zoo score")
    section = render(
        [json.loads(path.read_text(encoding="utf-8")) for path in files],
        first=_if_there(given.scores / FIRST),
        additions=_if_there(given.scores / ADDITIONS),
    )
    before = given.page.read_text(encoding="utf-8") if given.page.is_file() else ""
    replace_file(given.page, with_section(before, "zoo", section))
    print(f"wrote {given.page}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
