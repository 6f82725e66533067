"""A probe over a folder of checkpoints, kept as a run directory: one write-once segment per checkpoint, so that the
same command again goes on where it was stopped, and everything that reads runs reads it.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from headwise.core.config import Config, content_hash, validated
from headwise.core.errors import ConfigError, CorruptData, Interrupted
from headwise.probe.checkpoints import (
    Pickle,
    StoredModel,
    find_checkpoints,
    load_config,
    load_model,
    vocabulary_size,
)
from headwise.probe.probing import Induction, Probe
from headwise.probe.sequences import Kind, synthetic
from headwise.probe.token_file import read_tokens
from headwise.store import RunDirectory, check_writable, describe_run, now, run_path

OnCorrupt = Literal["stop", "skip"]
Notify = Callable[[str], None]


class FolderConfig(Config):
    """What is shown to every checkpoint and what is kept of it."""

    source: Annotated[str, Field(description="name of the folder of checkpoints")]
    tokens: Annotated[str, Field(description="kind of synthetic sequences, or the digest of the token file")]
    sequences: Annotated[int, Field(ge=1, le=100_000)] = 16
    length: Annotated[int, Field(ge=2, le=1_000_000)] = 64
    lags: Annotated[int, Field(ge=1, le=4096)] = 64
    induction: Induction = "on"
    seed: Annotated[int, Field(ge=0)] = 0


def folder_config(
    folder: Path, *, tokens: Path | Kind, sequences: int, length: int, lags: int, induction: Induction, seed: int
) -> FolderConfig:
    """The settings of a probe; a token file is named by its content."""
    shown = file_digest(tokens) if isinstance(tokens, Path) else tokens
    values = {"source": folder.resolve().name, "tokens": shown, "sequences": sequences, "length": length}
    return validated(FolderConfig, {**values, "lags": lags, "induction": induction, "seed": seed})


def probe_path(folder: Path, config: FolderConfig, out: Path) -> Path:
    """Where the probe of a folder is kept; the folder's place is part of its identity, its name of the path."""
    name = "probe-" + "".join(c if c.isalnum() or c in "._-" else "-" for c in config.source)[:58]
    content = {**config.model_dump(mode="json"), "place": str(folder.resolve())}
    return run_path(out, experiment=name, config_hash=content_hash(content), seed=config.seed)


def probe_checkpoints(
    folder: Path,
    config: FolderConfig,
    *,
    tokens: Path | Kind,
    out: Path,
    on_corrupt: OnCorrupt = "stop",
    pickle: Pickle = "refuse",
    device: str = "cpu",
    notify: Notify = lambda line: None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> RunDirectory:
    """Look at every checkpoint that was not looked at before, in order of step; returns the run with all records.

    A damaged checkpoint stops the probe or is skipped, by name; skipped ones are in the run's log. Records are added in
    order of step: the next call tries only checkpoints after the last record, such as those that have appeared since.
    """
    stored = find_checkpoints(folder)
    check_writable(out)
    run = RunDirectory(probe_path(folder, config, out))
    with run.writing():
        done = _steps_kept(run)
        waiting = [checkpoint for checkpoint in stored if checkpoint.step > (done[-1] if done else -1)]
        if not waiting and run.read_manifest() is not None:
            return run
        run.discard_after(done[-1] if done else -1)
        started = now()
        if done:
            notify(f"resuming after step {done[-1]}: {len(waiting)} of {len(stored)} checkpoints to go")
        probe: Probe | None = None
        for checkpoint in waiting:
            if stop_asked():
                raise Interrupted(f"interrupted before {checkpoint.path.name}; the same command resumes it")
            try:
                if probe is None:
                    probe = _probe(stored, config, tokens)
                model = load_model(checkpoint, pickle=pickle, device=device)
            except CorruptData as error:
                if on_corrupt == "stop":
                    raise CorruptData(f"{error}; pass --on-corrupt skip to go on without it") from error
                notify(f"skipped: {error}")
                run.log("skipped", {"step": checkpoint.step, "reason": str(error)})
                continue
            _keep(run, checkpoint, probe.look(model), probe, config)
            notify(f"{checkpoint.path.name}: {probe.layout}")
        steps = _steps_kept(run)
        if not steps:
            raise CorruptData(f"{folder}: none of its {len(stored)} checkpoints could be read")
        run.log("finished", {"step": steps[-1]})
        run.finish(
            describe_run(
                status="finished",
                steps=steps[-1],
                device=device,
                threads=_threads(),
                argv=sys.argv,
                started=started,
                ended=now(),
                engine="probe",
            )
        )
    return run


def skipped_steps(run: RunDirectory) -> dict[int, str]:
    """Steps whose checkpoints were damaged when they were looked at, with the reason."""
    events = run.read_log() if run.log_path.exists() else []
    kept = run.metrics.ends()
    found = {int(e["step"]): str(e["reason"]) for e in events if e.get("event") == "skipped"}
    return {step: reason for step, reason in found.items() if step not in kept}


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"--tokens {path} cannot be read: {error.strerror or error}") from None


def _probe(stored: list[StoredModel], config: FolderConfig, tokens: Path | Kind) -> Probe:
    """The probe with its tokens; the vocabulary is that of the first checkpoint whose config can be read."""
    size, problem = None, None
    for checkpoint in stored:
        try:
            size = vocabulary_size(load_config(checkpoint))
            break
        except CorruptData as error:
            problem = problem or error
    if size is None:
        assert problem is not None
        raise problem
    if isinstance(tokens, Path):
        shown = read_tokens(tokens, sequences=config.sequences, length=config.length, tokenizer=stored[0].path)
        if shown.min() < 0 or shown.max() >= size:
            raise ConfigError(f"--tokens: ids range over {shown.min()}..{shown.max()}, the model has 0..{size - 1}")
    else:
        shown = synthetic(tokens, vocabulary=size, sequences=config.sequences, length=config.length, seed=config.seed)
    return Probe(shown, lags=config.lags, induction=config.induction)


def _keep(
    run: RunDirectory, checkpoint: StoredModel, record: dict[str, np.ndarray], probe: Probe, config: FolderConfig
) -> None:
    run.start(config.model_dump(mode="json"), coordinates=probe.coordinates(), attributes=probe.attributes())
    variables: dict[str, Any] = {name: values[None] for name, values in record.items()}
    run.write_metrics(checkpoint.step, steps=np.array([checkpoint.step]), variables=variables)


def _steps_kept(run: RunDirectory) -> list[int]:
    """Steps whose records are on disk and whole."""
    ends, fault = run.metrics.intact_ends()
    if fault is not None:
        raise CorruptData(f"{fault}; remove {run.path} to probe the folder anew") from fault
    return ends


def _threads() -> int:
    import torch

    return torch.get_num_threads()
