"""What the scripts that explain causal claims share: a row for every trial of a scale, and a page of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from headwise.core.atomic import replace_file
from headwise.paper.causal.run import DRAWS, SEEDS
from headwise.paper.causal.trial import Trial
from headwise.paper.plan import FIRST
from headwise.paper.scale import Scale

Row = TypeVar("Row")


def explain_trials(description: str, explain: Callable[[Trial], Row], page: Callable[[list[Row], Scale], str]) -> None:
    """Read the command line, explain each trial, and write the page."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--scale", choices=("quick", "paper"), default="quick")
    parser.add_argument("--runs", type=Path, required=True, help="folder that holds the runs of the claims")
    parser.add_argument("--into", type=Path, required=True, help="the page to write")
    options = parser.parse_args()
    rows = []
    for draw in DRAWS[options.scale]:
        for seed in range(FIRST[options.scale], FIRST[options.scale] + SEEDS):
            rows.append(explain(Trial(seed, draw, options.scale, options.runs)))
            print(rows[-1], flush=True)
    replace_file(options.into, page(rows, options.scale).encode())
