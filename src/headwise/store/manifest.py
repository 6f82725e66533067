"""What a finished run says about itself: what ran, where, with which versions, and the digest of every file."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any, Literal

EndStatus = Literal["finished", "diverged"]

NOT_TYPED = ("", "-c", "-m", "ipykernel_launcher.py", "colab_kernel_launcher.py", "ipython", "ipython3", "jupyter")
"""What stands in place of a program's name where no command was typed."""
LIBRARIES = ("headwise", "numpy", "torch", "scipy", "pyarrow", "safetensors", "xarray", "transformers")


def describe_run(
    *,
    status: EndStatus,
    steps: int,
    device: str,
    threads: int,
    argv: Sequence[str],
    started: str,
    ended: str,
    engine: str,
) -> dict[str, Any]:
    """The content of a manifest, but for the files; `engine` is the path through the code that computed the run.

    Versions come from the installed packages' metadata, so torch is named without being imported.
    """
    return {
        "status": status,
        "steps": steps,
        "device": device,
        "threads": threads,
        "engine": engine,
        "argv": typed(argv),
        "started": started,
        "ended": ended,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor_count": os.cpu_count(),
        "versions": library_versions(),
        "commit": source_commit(),
    }


def typed(argv: Sequence[str]) -> list[str]:
    """The command line where somebody can type it again: none in a notebook, an interpreter or `python -c`.

    >>> typed(["headwise", "list"]), typed([""]), typed(["/lib/ipykernel_launcher.py", "-f", "kernel.json"])
    (['headwise', 'list'], [], [])
    """
    own = PurePath(argv[0]).name if argv else ""
    return [] if own in NOT_TYPED else list(argv)


def library_versions() -> dict[str, str]:
    """The version of every library that can change a result, as far as it is installed."""
    versions: dict[str, str] = {}
    for name in LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def source_commit() -> str | None:
    """The commit of the headwise sources that are running, with `-dirty` when they were edited; `None` if unknown.

    Asks whether this very file is tracked: an installed package may lie inside somebody else's repository.
    """
    here = Path(__file__).resolve()
    if _git(here.parent, "ls-files", "--error-unmatch", here.name) is None:
        return None
    commit = _git(here.parent, "rev-parse", "HEAD")
    edited = _git(here.parent, "status", "--porcelain", "--untracked-files=no", "--", str(here.parents[1]))
    return f"{commit}-dirty" if commit and edited else commit


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
