"""`python -m headwise.phases.calibration [docs/detection.md] [--measure]`: write that page from its stored numbers.

Its section on the zoo, written by `python -m headwise.zoo page`, is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from headwise.core.atomic import replace_file
from headwise.core.markdown import without_section
from headwise.phases.calibration.measure import measure
from headwise.phases.calibration.page import render


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page, after computing its numbers where that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m headwise.phases.calibration")
    parser.add_argument("page", nargs="?", type=Path, default=Path("docs/detection.md"))
    parser.add_argument("--numbers", type=Path, default=Path("docs/detection.json"), help="the stored numbers")
    parser.add_argument("--measure", action="store_true", help="compute the numbers anew (minutes) and store them")
    given = parser.parse_args(arguments)
    if given.measure:
        replace_file(given.numbers, json.dumps(measure(), indent=1) + "\n")
    page = render(json.loads(given.numbers.read_text(encoding="utf-8")))
    _, zoo = without_section(given.page.read_text(encoding="utf-8") if given.page.is_file() else "", "zoo")
    replace_file(given.page, f"{page}\n{zoo}" if zoo else page)
    print(f"wrote {given.page}", file=sys.stderr)


if __name__ == "__main__":
    main()
