"""Where runs live: `<out>/<experiment>/<32 digits>-s<seed>/`, and whether anything can be written there.

Runs of format 1 have names of 8 digits, the first of the 32.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from headwise.core.config import HASH_DIGITS
from headwise.core.errors import ConfigError, CorruptData
from headwise.core.system_errors import os_errors_reported
from headwise.store import format_1
from headwise.store.identity import RunIdentity

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LEAST_FREE_BYTES = 50_000_000
"""Less than this is a full disk in practice: one checkpoint of a large run would not fit."""

LONGEST_PATH_BELOW_ROOT = 180
"""Bytes that the longest file of a run may add to the root: experiment, run and file name with sidecar and `.tmp`."""

_SEED = "(0|[1-9][0-9]*)"
_NEW_NAME = re.compile(rf"[0-9a-f]{{{HASH_DIGITS}}}-s{_SEED}")
_RUN_NAME = re.compile(rf"([0-9a-f]{{{HASH_DIGITS}}}|[0-9a-f]{{{format_1.HASH_DIGITS}}})-s{_SEED}")


class RunName(NamedTuple):
    """What the path of a run says about it."""

    experiment: str
    config_hash: str
    seed: int


def run_path(out: Path | str, *, experiment: str, config_hash: str, seed: int) -> Path:
    """The directory of one run; equal experiment, config and seed give the same directory on every machine."""
    if NAME.fullmatch(experiment) is None:
        raise ConfigError(f"experiment name {experiment!r} must match {NAME.pattern}")
    name = f"{config_hash}-s{seed}"
    if _NEW_NAME.fullmatch(name) is None or NAME.fullmatch(name) is None:
        raise ConfigError(
            f"a run needs a hash of {HASH_DIGITS} hexadecimal digits and a seed of 0 or more, got {name!r}"
        )
    return Path(out) / experiment / name


def short_path(path: Path) -> Path:
    """Where a run of format 1 with this path's settings and seed would be, and what a person needs of a name."""
    match = _RUN_NAME.fullmatch(path.name)
    return path if match is None else path.with_name(f"{match[1][: format_1.HASH_DIGITS]}-s{match[2]}")


def parse_run_path(path: Path) -> RunName | None:
    """The inverse of `run_path`; `None` when this is not the path of a run."""
    match = _RUN_NAME.fullmatch(path.name)
    if match is None or NAME.fullmatch(path.parent.name) is None:
        return None
    return RunName(experiment=path.parent.name, config_hash=match[1], seed=int(match[2]))


def require_fitting_name(path: Path, identity: RunIdentity, *, hashed: bool, source: str) -> None:
    """`CorruptData` when a directory has the name of another run than the one in it; other names say nothing.

    `hashed` is whether the digits in the name can be worked out from what the run stored, `source` where that is.
    """
    name = path.name if path.name not in ("", "..") else Path(os.path.abspath(path)).name
    match = _RUN_NAME.fullmatch(name)
    if match is None:
        return
    differences = []
    if hashed and not identity.config_hash.startswith(match[1]):
        differences.append(f"settings {identity.config_hash[: len(match[1])]}, not {match[1]}")
    if identity.seed != int(match[2]):
        differences.append(f"seed {identity.seed}, not {match[2]}")
    if differences:
        raise CorruptData(
            f"{path} holds another run than its name says ({', '.join(differences)}, says {source}); "
            "move it away or name it rightly"
        )


def check_writable(root: Path | str, option: str = "--out") -> None:
    """Refuse an output root that cannot take a run, before anything is computed; leaves nothing behind.

    Writes a nameless file into the nearest directory that exists, because permission bits alone do not tell (a root
    user, a read-only mount, a quota, a file system out of inodes).
    """
    root = Path(os.path.abspath(root))
    try:
        if b"\0" in os.fsencode(root):
            raise ConfigError(f"{option} holds a null character; give a plain path")
    except UnicodeEncodeError:
        raise ConfigError(f"{option} holds characters that no file name can have; give a plain path") from None
    with os_errors_reported(root, option):
        standing = next(folder for folder in (root, *root.parents) if os.path.lexists(folder))
        if not standing.is_dir():
            raise ConfigError(f"cannot write {root}: {standing} is not a directory; choose another {option}")
        _check_lengths(root, standing, option)
        free = shutil.disk_usage(standing).free
        if free < LEAST_FREE_BYTES:
            raise ConfigError(
                f"cannot write {root}: {free / 1e6:.0f} MB free, a run needs {LEAST_FREE_BYTES / 1e6:.0f} MB; "
                f"free some or choose another {option}"
            )
        with tempfile.TemporaryFile(dir=standing) as file:
            file.write(b"\0" * 4096)
            file.flush()
            os.fsync(file.fileno())


def _check_lengths(root: Path, standing: Path, option: str) -> None:
    if not hasattr(os, "pathconf"):
        return
    shown = f"{str(root)[:80]}..."
    longest_name = os.pathconf(standing, "PC_NAME_MAX")
    for part in root.relative_to(standing).parts:
        if len(os.fsencode(part)) > longest_name:
            raise ConfigError(
                f"cannot write {shown}: a name in it is longer than {longest_name} bytes; shorten {option}"
            )
    longest_path = os.pathconf(standing, "PC_PATH_MAX")
    if len(os.fsencode(root)) + LONGEST_PATH_BELOW_ROOT >= longest_path:
        raise ConfigError(f"cannot write {shown}: paths below it would exceed {longest_path} bytes; shorten {option}")
