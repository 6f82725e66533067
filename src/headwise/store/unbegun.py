"""A directory in which a run was to begin and did not: taken away again, so that a refusal leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headwise.store.lock import HOLDER_NAME, LOCK_NAME
from headwise.store.run_directory import RunDirectory


def missing_folders(run: RunDirectory, out: Path) -> list[Path]:
    """Those of the run's folders, up to `out`, that are not there yet, the innermost first."""
    return [folder for folder in (run.path, run.path.parent, out) if not folder.exists()]


@contextmanager
def nothing_left_if_refused(run: RunDirectory, missing: list[Path]) -> Iterator[None]:
    """Inside `run.writing()`: where nothing of a run was written, the folders that were `missing` before go again.

    The lock is held meanwhile; who comes later makes the folders anew.
    """
    try:
        yield
    except BaseException:
        if run.path in missing and not run.is_begun():
            with suppress(OSError):
                for path in (run.log_path, run.path / HOLDER_NAME, run.path / LOCK_NAME):
                    path.unlink(missing_ok=True)
                for folder in missing:
                    folder.rmdir()
        raise
