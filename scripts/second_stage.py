"""Why the second stage of the minimal model ends when it does: how different the heads that stay are when it begins.

    python scripts/second_stage.py runs/minimal/*-s? runs/online/*-s?

For each stored run of three heads: the ends of the stages, and the largest difference between the attention of the two
heads that do not go to I(2), when the first stage ends. Writes results/paper/second-stage.csv; trains nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from headwise.core.atomic import replace_file
from headwise.core.csv_text import csv_text
from headwise.paper.levels import DRAWN_TO
from headwise.paper.quantities import group_shares, report_of
from headwise.store import load_trajectory, run_status

TABLE = Path(__file__).parents[1] / "results" / "paper" / "second-stage.csv"
ENDS = 2
"""Of three stages, the last of which does not end."""

COLUMNS = ("run", "seed", "end of stage 1", "end of stage 2", "difference of the heads that stay")


def row_of(path: Path) -> tuple[str, ...] | None:
    """One run as the figures show it; nothing where three stages are not found."""
    run = load_trajectory(path).sel(step=slice(None, DRAWN_TO))
    ends = report_of(run).function.boundaries
    if len(ends) != ENDS:
        return None
    leaving = int(group_shares(run)[-1, :, 1].argmax())
    attention = (
        run["attention_by_lag"].isel(block=0).sel(step=ends[0], method="nearest").transpose("head", "lag").values
    )
    one, other = np.delete(attention, leaving, axis=0)
    apart = f"{np.abs(one - other).max():.3f}"
    return path.parent.name, path.name.rpartition("-s")[2], f"{ends[0]:.0f}", f"{ends[1]:.0f}", apart


def main(paths: list[str]) -> int:
    """Read the runs that have ended and write the table; without any the table stays."""
    finished = [Path(path) for path in paths if run_status(Path(path)) == "finished"]
    rows = [row for path in finished if (row := row_of(path)) is not None]
    if not rows:
        print(__doc__, file=sys.stderr)
        return 2
    replace_file(TABLE, csv_text(COLUMNS, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
