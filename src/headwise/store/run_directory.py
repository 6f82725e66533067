"""One run on disk: who may write it, what is in it, and in which order its files appear.

    config.json, coordinates.json       what the run is, and how its arrays are to be read
    metrics-<step>.parquet              trajectory variables, one segment per checkpoint interval
    snapshots-<step>.safetensors        attention maps, likewise
    checkpoint-<step>.safetensors       what the run resumes from, written after the segments up to its step
    log.jsonl                           events with their times
    manifest.json                       written last: a run that has one is over

Every file but the log is written once and has its SHA-256 beside it. Reading needs no lock; writing happens inside
`with run.writing():`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from headwise.core.errors import ConfigError, CorruptData
from headwise.store.checkpoints import Checkpoint, Checkpoints, OnDamage
from headwise.store.files import read_verified, recorded_digest, remove, sweep_temporaries, write_once
from headwise.store.lock import RunLock
from headwise.store.log import append_event, read_events
from headwise.store.plain import portable_json
from headwise.store.segments import History, ParquetSegments, SafetensorsSegments, SegmentChain


class RunDirectory:
    """The files of one run; see `run_path` for where a run lives."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.metrics = SegmentChain(self.path, kind="metrics", codec=ParquetSegments())
        self.snapshots = SegmentChain(self.path, kind="snapshots", codec=SafetensorsSegments())
        self.checkpoints = Checkpoints(self.path, histories=(self.metrics, self.snapshots))
        self._lock = RunLock(self.path)

    @property
    def config_path(self) -> Path:
        return self.path / "config.json"

    @property
    def coordinates_path(self) -> Path:
        return self.path / "coordinates.json"

    @property
    def manifest_path(self) -> Path:
        return self.path / "manifest.json"

    @property
    def log_path(self) -> Path:
        return self.path / "log.jsonl"

    @contextmanager
    def writing(self) -> Iterator[RunDirectory]:
        """Hold the run's lock, creating the directory if need be; `RunBusy` when another process holds it."""
        with self._lock:
            sweep_temporaries(self.path)
            yield self

    def start(
        self,
        config: Mapping[str, Any],
        *,
        coordinates: Mapping[str, Any],
        attributes: Mapping[str, Any],
        on_damage: OnDamage = "refuse",
    ) -> None:
        """Say what the run is. On a run that was started before, check that it is the same one."""
        self._require_lock()
        self._settle(self.coordinates_path, {"coordinates": coordinates, "attributes": attributes}, on_damage=on_damage)
        self._settle(self.config_path, config, on_damage=on_damage)

    def write_metrics(self, until: int, *, steps: np.ndarray, variables: Mapping[str, np.ndarray]) -> None:
        """Keep what was measured since the last segment, up to step `until`; the steps are every array's first axis."""
        self._require_lock()
        self.metrics.write(until, steps=steps, variables=variables)

    def write_snapshots(self, until: int, *, steps: np.ndarray, variables: Mapping[str, np.ndarray]) -> None:
        """Keep the snapshots taken since the last segment, up to step `until`."""
        self._require_lock()
        self.snapshots.write(until, steps=steps, variables=variables)

    def write_checkpoint(self, step: int, *, arrays: Mapping[str, np.ndarray], state: Mapping[str, Any]) -> None:
        """Keep the state after `step` steps; write the segments up to this step first."""
        self._require_lock()
        self.checkpoints.write(step, arrays=arrays, state=state)

    def latest_checkpoint(self, *, on_damage: OnDamage = "refuse") -> Checkpoint | None:
        """What to resume from: the newest checkpoint, once it and all segments up to it are verified.

        Damage raises `CorruptData`, or with `recover` leads back to the newest point that is whole (`None`: the start).
        """
        return self.checkpoints.latest(on_damage=on_damage)

    def discard_after(self, step: int) -> None:
        """Forget everything after `step`, the end of the run included, before computing it again; -1 forgets all.

        The order keeps every intermediate state a valid run: no checkpoint outlives a segment that it needs.
        """
        self._require_lock()
        remove(self.manifest_path)
        self.checkpoints.discard_after(step)
        self.snapshots.discard_after(step)
        self.metrics.discard_after(step)

    def prune_checkpoints(self, *, keep_every: int | None = None, keep_last: int = 2) -> None:
        """Drop old checkpoints but for the newest `keep_last` and the multiples of `keep_every`."""
        self._require_lock()
        self.checkpoints.prune(keep_every=keep_every, keep_last=keep_last)

    def finish(self, manifest: Mapping[str, Any]) -> None:
        """End the run, finished or diverged, with the digests of all its files; see `describe_run` for the content."""
        self._require_lock()
        if manifest.get("status") not in ("finished", "diverged"):
            raise ValueError(f"a run ends finished or diverged, not {manifest.get('status')!r}")
        files = {
            path.name: {"sha256": recorded_digest(path), "bytes": path.stat().st_size} for path in self.data_files()
        }
        write_once(self.manifest_path, _json_file({**manifest, "files": files}))

    def log(self, event: str, fields: Mapping[str, Any] | None = None) -> None:
        """Add a line to the log."""
        self._require_lock()
        append_event(self.log_path, event, fields or {})

    def read_metrics(self) -> History:
        """All metrics, verified and joined; `CorruptData` when something is damaged or missing."""
        return self._read_history(self.metrics)

    def read_snapshots(self) -> History:
        """All snapshots, verified and joined."""
        return self._read_history(self.snapshots)

    def read_config(self) -> dict[str, Any]:
        """The resolved config as it was stored."""
        return _read_json(self.config_path)

    def read_coordinates(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Coordinates and attributes of the run's trajectory."""
        stored = _read_json(self.coordinates_path)
        return stored["coordinates"], stored["attributes"]

    def read_manifest(self) -> dict[str, Any] | None:
        """The manifest of a run that is over; `None` before that."""
        return _read_json(self.manifest_path) if self.manifest_path.exists() else None

    def read_log(self) -> list[dict[str, Any]]:
        """Every event, in order."""
        return read_events(self.log_path)

    def data_files(self) -> list[Path]:
        """Every file that has a digest, but for the manifest, sorted by name."""
        named = [path for path in (self.config_path, self.coordinates_path) if path.exists()]
        chains = [chain.path(end) for chain in (self.metrics, self.snapshots) for end in chain.ends()]
        return sorted(named + chains + [self.checkpoints.path(step) for step in self.checkpoints.steps()])

    def verify(self) -> None:
        """Read everything; `CorruptData` names the first file that is damaged or missing."""
        for path in self.data_files():
            read_verified(path)
        self.read_metrics()
        self.read_snapshots()
        self.checkpoints.verify()

    def require_listed_files(self) -> None:
        """`CorruptData` when a file that the manifest lists is gone (but for checkpoints) or of another size."""
        manifest = self.read_manifest()
        for name, about in (manifest or {}).get("files", {}).items():
            path = self.path / name
            if not path.exists():
                if not name.startswith("checkpoint-"):
                    raise CorruptData(f"{path} is missing, though manifest.json lists it")
            elif path.stat().st_size != about["bytes"]:
                raise CorruptData(f"{path} is damaged: it has not the size that manifest.json lists")

    def _read_history(self, chain: SegmentChain) -> History:
        self.require_listed_files()
        return chain.read()

    def _settle(self, path: Path, content: Mapping[str, Any], *, on_damage: OnDamage) -> None:
        if path.exists():
            try:
                if read_verified(path) != _json_file(content):
                    raise ConfigError(f"{path} belongs to another configuration; choose another --out")
            except CorruptData as error:
                if on_damage == "refuse":
                    raise CorruptData(f"{error}; --recover writes it anew") from error
                remove(path)
        write_once(path, _json_file(content))

    def _require_lock(self) -> None:
        if not self._lock.held:
            raise RuntimeError(f"{self.path}: write inside `with run.writing():`")


def _json_file(content: Mapping[str, Any]) -> bytes:
    return (portable_json(content, indent=2) + "\n").encode()


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(read_verified(path))
    except ValueError as error:
        raise CorruptData(f"{path} is damaged: {error}") from error
    return content
