"""A probe over a folder of checkpoints, kept as a run directory: one write-once segment per checkpoint, so that the
same command again goes on where it was stopped, and everything that reads runs reads it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from headwise.core.errors import ConfigError, CorruptData, HeadwiseError, Interrupted
from headwise.probe.checkpoints import (
    StoredModel,
    at_hand,
    find_checkpoints,
    model_sizes,
    offline,
    open_checkpoint,
)
from headwise.probe.folder_config import FolderConfig
from headwise.probe.foreign_config import first_line
from headwise.probe.hub import announcement
from headwise.probe.kept_looks import MOST
from headwise.probe.looked_at import (
    ATTRIBUTE,
    LookedAt,
    read_looked_at,
    tokens_digest,
    write_looked_at,
)
from headwise.probe.losses import loss_variables
from headwise.probe.probe_identity import first_looked_at, probe_identity, probe_path, require_own
from headwise.probe.probing import Probe
from headwise.probe.sequences import Kind, synthetic
from headwise.probe.token_classes import Classes, require_in_vocabulary
from headwise.probe.token_file import read_corpus, read_tokenizer, read_tokens
from headwise.probe.weights import Pickle
from headwise.store import RunDirectory, RunIdentity, check_writable, describe_run, now
from headwise.store.unbegun import missing_folders, nothing_left_if_refused

OnCorrupt = Literal["stop", "skip"]
Notify = Callable[[str], None]


def probe_checkpoints(
    folder: Path,
    config: FolderConfig,
    *,
    tokens: Path | Kind,
    corpus: Path | None = None,
    classes: Classes | None = None,
    revisions: str | None = None,
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
    Checkpoints that have a record are read again, but for revisions on the hub: one whose content is another now stops
    the probe. One that is refused before its first record leaves no run behind.
    """
    stored = find_checkpoints(folder, step_pattern=config.step_pattern, build=config.build, revisions=revisions)
    check_writable(out)
    run = RunDirectory(probe_path(folder, config, out))
    on_hub = stored[0].revision is not None
    missing = missing_folders(run, out)
    with run.writing(), nothing_left_if_refused(run, missing):
        require_own(run, folder, config)
        looked_at = read_looked_at(run)
        if not on_hub:
            _require_unchanged(stored, looked_at, run, pickle=pickle, on_corrupt=on_corrupt, stop_asked=stop_asked)
        waiting = [checkpoint for checkpoint in stored if checkpoint.step > looked_at.last]
        whole = _steps_kept_whole(stored)

        def new_probe(of: list[StoredModel]) -> Probe:
            return _probe(
                of, config, tokens, corpus=corpus, classes=classes, looked_at=looked_at, run=run, notify=notify
            )

        probe = new_probe(stored) if looked_at.steps and not on_hub else None
        if not waiting and run.read_manifest() is not None:
            return run
        if looked_at.steps:
            run.discard_after(looked_at.last)
        else:
            run.discard_all()  # without a whole record nothing is settled, not even which checkpoint is the first
        started = now()
        if looked_at.steps:
            notify(f"resuming after step {looked_at.last}: {len(waiting)} of {len(stored)} checkpoints to go")
        if on_hub and waiting:
            notify(announcement(folder, len(waiting)))
        for checkpoint in waiting:
            if stop_asked():
                raise Interrupted(f"interrupted before {checkpoint.path.name}; the same command resumes it")
            try:
                with at_hand(checkpoint) as local:
                    if probe is None:
                        probe = new_probe([local] if on_hub else stored)
                    opened = open_checkpoint(local, pickle=pickle)
                    content = opened.identity()
                    due = probe.importance is not None and (
                        checkpoint is stored[-1] or probe.importance.due(stored.index(checkpoint))
                    )
                    record = _look(probe, opened.model(device), checkpoint, importance="now" if due else "not now")
            except CorruptData as error:
                if on_corrupt == "stop":
                    raise CorruptData(f"{error}; pass --on-corrupt skip to go on without it") from error
                notify(f"skipped: {error}")
                run.log("skipped", {"step": checkpoint.step, "reason": str(error)})
                continue
            shown = tokens_digest(probe.batch.tokens.numpy())
            looked_at = looked_at.with_record(checkpoint.step, content=content, tokens=shown)
            first = first_looked_at(run) or looked_at.first()
            identity = probe_identity(folder, config, first=first)
            _keep(run, looked_at, record, probe, config, identity, maps=checkpoint.step in whole)
            seen = str(probe.layout) if checkpoint is waiting[0] else f"{len(looked_at.steps)} of {len(stored)}"
            notify(f"{checkpoint.path.name}: {seen}")
        steps = looked_at.steps
        if not steps:
            raise CorruptData(f"{folder}: none of its {len(stored)} checkpoints could be read")
        for same in looked_at.equal_weights():
            notify(f"the checkpoints of steps {', '.join(map(str, same))} have the same weights")
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


def equal_checkpoints(run: RunDirectory) -> list[list[int]]:
    """Groups of steps whose checkpoints have the same weights."""
    return read_looked_at(run).equal_weights()


def _require_unchanged(
    stored: list[StoredModel],
    looked_at: LookedAt,
    run: RunDirectory,
    *,
    pickle: Pickle,
    on_corrupt: OnCorrupt,
    stop_asked: Callable[[], bool],
) -> None:
    """Read again what has a record: a folder's name and a step do not say which weights are there."""
    for checkpoint in stored:
        if checkpoint.step not in looked_at.content:
            continue
        if stop_asked():
            raise Interrupted(f"interrupted before {checkpoint.path.name}; the same command resumes it")
        try:
            content = open_checkpoint(checkpoint, pickle=pickle).identity()
        except CorruptData as error:
            if on_corrupt == "skip":
                continue
            raise CorruptData(f"{error}; pass --on-corrupt skip to rely on its record in {run.path}") from error
        looked_at.require_same(checkpoint, content, run=run)


def _probe(
    stored: list[StoredModel],
    config: FolderConfig,
    tokens: Path | Kind,
    *,
    corpus: Path | None,
    classes: Classes | None,
    looked_at: LookedAt,
    run: RunDirectory,
    notify: Notify,
) -> Probe:
    """The probe with its tokens; the vocabulary is that of the first checkpoint whose config can be read.

    Sequences that are longer than the model's positions are cut to these.
    """
    size, longest, problem = None, None, None
    for checkpoint in stored:
        try:
            size, longest = model_sizes(checkpoint)
            break
        except CorruptData as error:
            problem = problem or error
    if size is None:
        assert problem is not None
        raise problem
    if classes is not None:
        require_in_vocabulary(classes, size)
    length = config.length if longest is None else min(config.length, longest)
    if length < config.length:
        notify(f"sequences are cut to the {length} positions of the model")
    if isinstance(tokens, Path):
        shown = read_tokens(tokens, sequences=config.sequences, length=length, tokenizer=stored[0].path)
        shown = shown if longest is None else shown[:, :longest]
        if shown.min() < 0 or shown.max() >= size:
            raise ConfigError(f"--tokens: ids range over {shown.min()}..{shown.max()}, the model has 0..{size - 1}")
    else:
        shown = synthetic(tokens, vocabulary=size, sequences=config.sequences, length=length, seed=config.seed)
    if looked_at.tokens not in (None, tokens_digest(shown)):
        raise CorruptData(
            f"{stored[0].path} makes other tokens than were shown before (another tokenizer or vocabulary), so its "
            f"records would not go with those in {run.path}; put it back, or remove that run to probe the folder anew"
        )
    counted = None if corpus is None else read_corpus(corpus, tokenizer=stored[0].path)
    return Probe(
        shown,
        lags=config.lags,
        induction=config.induction,
        classes=classes,
        corpus=counted,
        examples=config.examples,
        decode=read_tokenizer(stored[0].path) if config.examples else None,
        importance=config.importance,
        importance_of=config.importance_of or "heads",
        say=notify,
    )


def _look(
    probe: Probe, model: Any, checkpoint: StoredModel, *, importance: Literal["now", "not now"]
) -> dict[str, np.ndarray]:
    try:
        with offline():
            record = probe.look(model, importance=importance)
    except (HeadwiseError, OSError, MemoryError):
        raise
    except Exception as error:  # what odd settings make a model's own code raise is open-ended
        raise CorruptData(f"{checkpoint.path} cannot be run: {first_line(error)}") from error
    if probe.loss is not None:
        losses = loss_variables([[probe.loss]], [checkpoint.step])
        record.update({name: values[0] for name, values in losses.items()})
    return record


def _keep(
    run: RunDirectory,
    looked_at: LookedAt,
    record: dict[str, np.ndarray],
    probe: Probe,
    config: FolderConfig,
    identity: RunIdentity,
    *,
    maps: bool,
) -> None:
    known = run.read_coordinates()[1] if run.coordinates_path.exists() else {ATTRIBUTE: "content"}
    attributes = {**probe.attributes(), **({ATTRIBUTE: known[ATTRIBUTE]} if ATTRIBUTE in known else {})}
    run.start(config.model_dump(mode="json"), identity=identity, coordinates=probe.coordinates(), attributes=attributes)
    variables: dict[str, Any] = {name: values[None] for name, values in record.items()}
    run.write_metrics(looked_at.last, steps=np.array([looked_at.last]), variables=variables)
    if maps and probe.example_maps is not None:
        kept = {"example_attention": probe.example_maps[None]}
        run.write_snapshots(looked_at.last, steps=np.array([looked_at.last]), variables=kept)
    write_looked_at(run, looked_at)


def _steps_kept_whole(stored: list[StoredModel]) -> set[int]:
    """Steps whose examples are kept: spread over all checkpoints that are there, the first and the last among them."""
    places = np.linspace(0, len(stored) - 1, min(MOST, len(stored))).round().astype(int)
    return {stored[place].step for place in places}


def _threads() -> int:
    import torch

    return torch.get_num_threads()
