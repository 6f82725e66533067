"""`python -m headwise.phases.calibration [docs/detection.md]`: compute every number of that page and write it."""

from __future__ import annotations

import sys
from pathlib import Path

from headwise.phases.calibration.page import page


def main(arguments: list[str]) -> None:
    """Write the page to the file named, or to docs/detection.md."""
    target = Path(arguments[0] if arguments else "docs/detection.md")
    target.write_text(page(), encoding="utf-8")
    print(f"wrote {target}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
