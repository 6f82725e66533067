"""The manifest against the files: a run that is over has what its manifest lists, byte for byte, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headwise.core.errors import CorruptData
from headwise.core.system_errors import file_size
from headwise.store.documents import require_seal
from headwise.store.files import recorded_digest

CHECKPOINT = "checkpoint-"


def describe_files(files: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """What a manifest says of every file."""
    return {path.name: {"sha256": recorded_digest(path), "bytes": path.stat().st_size} for path in files}


def require_manifest(manifest: Mapping[str, Any], *, identity: str | None) -> None:
    """ValueError or KeyError unless this is the manifest of the run it lies in, as it was written."""
    if identity is None:
        if "identity" in manifest:
            raise ValueError("it is of a later format than the run it lies in")
        return
    require_seal(manifest)
    if manifest["identity"] != identity:
        raise ValueError("it belongs to another run")
    require_steps(manifest)


def require_steps(manifest: Mapping[str, Any]) -> None:
    """ValueError unless the step at which a run ended is that of its last file; a diverged one may end after it."""
    last = max((_step(name) for name in manifest["files"] if "-" in name), default=0)
    steps = manifest["steps"]
    if steps < last or (manifest["status"] == "finished" and steps != last):
        raise ValueError(f"it says that the run ended at step {steps}, its files go to step {last}")


def last_checkpoint(manifest: Mapping[str, Any]) -> int | None:
    """The step of the newest checkpoint that a run had when it ended."""
    return max((_step(name) for name in manifest["files"] if name.startswith(CHECKPOINT)), default=None)


def listing_faults(directory: Path, manifest: Mapping[str, Any], files: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Files that are gone (but for checkpoints, which may be dropped), are not as listed, or are not listed."""
    listed = manifest["files"]
    for name, about in listed.items():
        path = directory / name
        size = file_size(path)
        if size is None:
            if not name.startswith(CHECKPOINT):
                yield path, "is missing, though manifest.json lists it"
            continue
        if size != about["bytes"]:
            yield path, "is damaged: it has not the size that manifest.json lists"
            continue
        try:
            same = recorded_digest(path) == about["sha256"]
        except CorruptData as fault:
            yield path, str(fault).removeprefix(f"{path} ")
            continue
        if not same:
            yield path, "is not the file that manifest.json lists: its digest is another"
    for path in files:
        if path.name not in listed:
            yield path, "is not part of this run: manifest.json does not list it; move it away"


def _step(name: str) -> int:
    """The step in the name of a segment or a checkpoint."""
    return int(name.partition("-")[2].partition(".")[0])
