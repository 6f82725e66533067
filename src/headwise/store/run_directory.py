"""One run on disk: who may write it, what is in it, and in which order its files appear.

    coordinates.json, config.json       how its arrays are to be read, which run it is, and all its settings
    metrics-<step>.parquet              trajectory variables, one segment per checkpoint interval
    snapshots-<step>.safetensors        attention maps, likewise
    checkpoint-<step>.safetensors       what the run resumes from, written after the segments up to its step
    log.jsonl                           events with their times
    manifest.json                       written last: a run that has one is over

Every file but the log is written once, has its SHA-256 beside it and the identity of the run inside. Reading needs no
lock; writing happens inside `with run.writing():`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from headwise.core.errors import ConfigError, CorruptData, RunFailed
from headwise.core.system_errors import exists
from headwise.store.beginning import Beginning
from headwise.store.checkpoints import Checkpoint, Checkpoints, OnDamage
from headwise.store.documents import SEAL, json_digest, json_file, read_object, sealed
from headwise.store.files import remove, sweep_temporaries, write_once
from headwise.store.header import BY_CONTENT, BY_PLACE, FORMAT, RunHeader
from headwise.store.histories import History, ParquetCodec, SafetensorsCodec
from headwise.store.identity import RunIdentity
from headwise.store.links import Link
from headwise.store.listed_files import describe_files, last_checkpoint, listing_faults, require_manifest
from headwise.store.lock import RunLock
from headwise.store.log import append_event, read_events
from headwise.store.run_faults import Fault, run_faults
from headwise.store.same_run import require_same
from headwise.store.segments import UNREADABLE, SegmentChain
from headwise.store.settled import settled


class RunDirectory:
    """The files of one run; see `run_path` for where a run lives."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        identity = self._file_identity
        self.beginning = Beginning(self.path)
        self.metrics = SegmentChain(self.path, kind="metrics", codec=ParquetCodec(), identity=identity)
        self.snapshots = SegmentChain(self.path, kind="snapshots", codec=SafetensorsCodec(), identity=identity)
        self.checkpoints = Checkpoints(self.path, histories=(self.metrics, self.snapshots), identity=identity)
        self._lock = RunLock(self.path)
        self._started: RunHeader | None = None

    @property
    def config_path(self) -> Path:
        return self.beginning.config_path

    @property
    def coordinates_path(self) -> Path:
        return self.beginning.header_path

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
            try:
                yield self
            finally:
                self._started = None

    def start(
        self,
        config: Mapping[str, Any],
        *,
        identity: RunIdentity,
        coordinates: Mapping[str, Any],
        attributes: Mapping[str, Any],
        on_damage: OnDamage = "refuse",
    ) -> None:
        """Say what the run is; `identity` is what its results depend on. A run that is here must be the same one."""
        self._require_lock()
        content = json_file(config)
        digest = json_digest(config)
        found = self.require_same(identity, on_damage=on_damage, config_sha256={digest})
        header = RunHeader(coordinates, attributes)
        if found != 1:
            name = BY_CONTENT if identity.named_by is None else BY_PLACE
            header = replace(header, identity=identity, config_sha256=digest, name=name)
        self.beginning.settle(header, content, records=self.has_records(), on_damage=on_damage)
        self._started = header

    def require_same(
        self, identity: RunIdentity, *, on_damage: OnDamage = "refuse", config_sha256: AbstractSet[str] = frozenset()
    ) -> int | None:
        """`CorruptData` unless the run that is here is this one; returns its format, `None` where no run is yet.

        `config_sha256` are the digests that the config.json of this run may have; a run of format 1 that has lost its
        own is known by them.
        """
        return require_same(self, identity, on_damage=on_damage, config_sha256=config_sha256)

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
        if self.checkpoints.steps():
            self.beginning.header()
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

    def discard_all(self) -> None:
        """Forget everything but the log, also which run this is."""
        self.discard_after(-1)
        remove(self.config_path)
        remove(self.coordinates_path)
        self._started = None

    def prune_checkpoints(self, *, keep_every: int | None = None, keep_last: int = 2) -> None:
        """Drop old checkpoints but for the newest `keep_last` and the multiples of `keep_every`."""
        self._require_lock()
        self.checkpoints.prune(keep_every=keep_every, keep_last=keep_last)

    def finish(self, manifest: Mapping[str, Any]) -> None:
        """End the run, finished or diverged, with the digests of all its files; see `describe_run` for the content."""
        self._require_lock()
        if manifest.get("status") not in ("finished", "diverged"):
            raise ValueError(f"a run ends finished or diverged, not {manifest.get('status')!r}")
        content = {**manifest, "files": describe_files(self.data_files())}
        content.pop(SEAL, None)
        identity = self._file_identity()
        if identity is not None:
            content = sealed({**content, "format": FORMAT, "identity": identity})
            require_manifest(content, identity=identity)
        write_once(self.manifest_path, json_file(content))

    def log(self, event: str, fields: Mapping[str, Any] | None = None) -> None:
        """Add a line to the log."""
        self._require_lock()
        append_event(self.log_path, event, fields or {})

    def read_metrics(self) -> History:
        """All metrics, verified and joined; `CorruptData` when something is damaged or missing."""
        return self._read(self.metrics)[0]

    def read_snapshots(self) -> History:
        """All snapshots, verified and joined."""
        return self._read(self.snapshots)[0]

    def read_histories(self) -> tuple[History, History]:
        """Metrics and snapshots, verified and joined."""
        metrics, snapshots = self._read(self.metrics, self.snapshots)
        return metrics, snapshots

    def final_checkpoint(self) -> Checkpoint:
        """The state in which a run that is over ended; an older one is never taken for it."""
        manifest = self.read_manifest()
        if manifest is None:
            raise ConfigError(f"{self.path} is not over yet; let it end")
        self.require_listed_files()
        step = last_checkpoint(manifest)
        if step is None:
            raise RunFailed(f"{self.path} ended without a checkpoint, so there is no model to take from it")
        if not exists(self.checkpoints.path(step)):
            raise CorruptData(
                f"{self.checkpoints.path(step)} is missing, so the weights with which the run ended are gone; "
                "--recover computes them again from the checkpoint before"
            )
        return self.checkpoints.read(step)

    def read_config(self) -> dict[str, Any]:
        """The resolved config as it was stored."""
        return self.beginning.config(self.beginning.header())

    def read_coordinates(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Coordinates and attributes of the run's trajectory."""
        header = self.beginning.header()
        return dict(header.coordinates), dict(header.attributes)

    def read_manifest(self) -> dict[str, Any] | None:
        """The manifest of a run that is over; `None` before that."""

        def read() -> dict[str, Any] | None:
            if not exists(self.manifest_path):
                return None
            self.beginning.header()
            return self.manifest_of_any_name()

        return settled(self.path, read)

    def manifest_of_any_name(self) -> dict[str, Any]:
        """The manifest, whatever the directory is called."""
        manifest = read_object(self.manifest_path)
        try:
            require_manifest(manifest, identity=self._file_identity())
        except UNREADABLE as error:
            raise CorruptData(f"{self.manifest_path} is damaged: {error}") from error
        return manifest

    def read_log(self) -> list[dict[str, Any]]:
        """Every event, in order."""
        return read_events(self.log_path)

    def data_files(self) -> list[Path]:
        """Every file that has a digest, but for the manifest, sorted by name."""
        named = [path for path in (self.config_path, self.coordinates_path) if exists(path)]
        return sorted(named + self._records())

    def has_records(self) -> bool:
        """Whether anything but the first two files and the log was written."""
        return bool(self._records()) or exists(self.manifest_path)

    def is_begun(self) -> bool:
        """Whether there is anything of a run here."""
        return bool(self.data_files()) or exists(self.manifest_path)

    def require_begun(self) -> None:
        """`ConfigError` where there is no run, `CorruptData` where one has lost the file with its settings."""
        if exists(self.config_path):
            return
        if self.has_records():
            raise CorruptData(f"{self.config_path} is missing")
        raise ConfigError(f"{self.path} is not a run: it has no config.json; `headwise list --runs DIR` shows the runs")

    def verify(self) -> None:
        """Read everything; `CorruptData` names the first file that is damaged, missing or of another run."""
        for fault in self.faults():
            raise CorruptData(str(fault))

    def faults(self) -> list[Fault]:
        """Everything that is wrong; none in a run that is whole as far as it goes."""
        return settled(self.path, lambda: list(run_faults(self)), suspicious=bool)

    def require_listed_files(self) -> None:
        """`CorruptData` when the files are not those that the manifest lists; checkpoints may have been dropped."""
        manifest = self.read_manifest()
        if manifest is not None:
            for path, problem in listing_faults(self.path, manifest, self.data_files()):
                raise CorruptData(f"{path} {problem}")

    def _read(self, *chains: SegmentChain) -> list[History]:
        """Histories up to the end of the run, or at least as far as its newest checkpoint goes."""

        def read() -> list[History]:
            reach: dict[str, Link | None] = {}
            if self.data_files():
                self.beginning.header()
            if exists(self.manifest_path):
                self.require_listed_files()
            elif steps := self.checkpoints.steps():
                # Read before the segments are looked up: what a checkpoint names was written before it.
                reach = self.checkpoints.read(steps[-1]).histories
            return [chain.read(reach=reach.get(chain.kind)) for chain in chains]

        return settled(self.path, read)

    def _records(self) -> list[Path]:
        """Segments and checkpoints."""
        segments = [chain.path(end) for chain in (self.metrics, self.snapshots) for end in chain.ends()]
        return segments + [self.checkpoints.path(step) for step in self.checkpoints.steps()]

    def _file_identity(self) -> str | None:
        """What every file of this run carries; `None` in format 1."""
        return (self._started or self.beginning.header_of_any_name()).file_identity

    def _require_lock(self) -> None:
        if not self._lock.held:
            raise RuntimeError(f"{self.path}: write inside `with run.writing():`")
