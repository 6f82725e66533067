"""The sources of the compiled kernel, how they are compiled, and one hash of both.

Python and the library must come from the same sources: they share structures, and a run's last bits depend on every
line. The build compiles the hash in; a library whose hash is not that of the sources beside it is refused. The sources
are installed with the package, so this holds for wheels too; where they are missing nothing can be compared and the
library is refused as well.

`setup.py` runs this file by itself before anything is installed, so it imports the standard library only.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

SOURCE = "kernel.cpp"
HEADERS = tuple(
    f"kernel_{part}.h"
    for part in (
        *("attention", "common", "decoder", "dropped", "level", "loss"),
        *("nodes", "quads", "rows", "scores", "values", "vectors"),
    )
)
# No -march: environments are shared between machines, and the kernel picks its instructions when loaded.
# No -ffast-math: a loss that becomes NaN must be seen.
FLAGS = ("-std=c++17", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-Wno-psabi")
MACRO = "HEADWISE_SOURCES"


def sources_hash(folder: Path) -> str | None:
    """Sixteen hexadecimal digits that name sources and flags; `None` where a source is missing."""
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for name in (SOURCE, *HEADERS):
        try:
            content = (folder / name).read_bytes().replace(b"\r\n", b"\n")
        except OSError:
            return None
        digest.update(f"\n{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]
