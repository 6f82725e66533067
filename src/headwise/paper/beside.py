"""What one stored run reached beside the numbers read off the published figure of its experiment.

python -m headwise.paper.beside runs/minimal/*-s0
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from headwise.core.errors import ConfigError
from headwise.core.readings import reading_in
from headwise.core.text import text_table
from headwise.paper.levels import COLUMNS, LEVELS, as_drawn, level_row
from headwise.store import RunDirectory, load_trajectory


def beside_published(run: Path) -> str:
    """A table of the published numbers that the run's experiment has; on another task they are another task's."""
    config = RunDirectory(run).read_config()
    name, reading = config.get("experiment"), reading_in(config)
    known = dict.fromkeys(level.experiment for table in LEVELS.values() for level in table)
    levels = [level for table in LEVELS.values() for level in table if level.experiment == name]
    if not levels:
        raise ConfigError(f"{run}: no numbers of this run are published; take one of {', '.join(known)}")
    trajectory = load_trajectory(run)
    rows = []
    for level in levels:
        value = level.read(as_drawn(level, trajectory))
        rows.append(level_row(level, [] if value is None else [value], 1))
    shown = [column for column in COLUMNS if column not in ("run", "range")]
    kept = [[cell for column, cell in zip(COLUMNS, row, strict=True) if column in shown] for row in rows]
    task = "the task of the figures" if reading == "published" else "another task than that of the figures"
    return f"{name} on {task}, beside the published numbers\n\n{text_table(shown, kept)}"


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    if len(arguments) != 1:
        print(__doc__)
        return 2
    try:
        print(beside_published(Path(arguments[0])))
    except ConfigError as error:
        print(f"headwise: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
