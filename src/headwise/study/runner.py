"""A run from its config to its end: found on disk, resumed or begun, after the runs that it needs.

The run directory is the truth. Executing a finished run reads it, an unfinished one resumes it, and the
restricted-context models that a run is compared with are executed first.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from headwise.core.errors import CorruptData, RunFailed
from headwise.model import kernel
from headwise.model.paths import Choice, choose
from headwise.store import OnDamage, RunDirectory, check_writable
from headwise.store.labels import check_label, give_label, write_label
from headwise.study.branch_parent import find_parent
from headwise.study.config import RunConfig, window_config
from headwise.study.kept_predictors import kept_predictors
from headwise.study.own_code import NOTHING, OwnCode
from headwise.study.prepared_run import PreparedRun
from headwise.study.resumed_config import begun_digests, with_stored_compute
from headwise.study.run_location import run_identity, run_location
from headwise.study.train_run import Notify, Report, StopAsked, train_run


def execute(
    config: RunConfig,
    out: Path | str,
    *,
    report: Report = lambda progress: None,
    notify: Notify = lambda line: None,
    stop_asked: StopAsked = lambda: False,
    on_damage: OnDamage = "refuse",
    argv: list[str] | None = None,
    own: OwnCode = NOTHING,
    parent: RunDirectory | None = None,
    label: str | None = None,
) -> RunDirectory:
    """Bring a run to its end, from wherever it stands, and return its directory.

    `report` is called after every measurement, `notify` with a line that a person should read once. `Interrupted` is
    raised between two steps once `stop_asked` returns true; the state is saved before. `own` is code of the caller's
    own; a run that was made with some is computed only with the same.
    The `parent` of a branch is looked for below `out` unless it is given. `label` is what people call the run; it is no
    part of what names it.
    """
    label = check_label(label)
    config = own.recorded_in(config)
    run = RunDirectory(run_location(config, out))
    if _is_over(run, config, on_damage=on_damage):
        give_label(run, label)
        return run
    own.require_all_of(config)
    if config.branch is not None and parent is None:
        parent = find_parent(config.branch.parent, out, of=run.path)
    check_writable(out)
    windows: dict[int, RunDirectory] = {}
    for window in config.measure.windows:
        restricted = window_config(config, window)
        windows[window] = execute(
            restricted, out, report=report, notify=notify, stop_asked=stop_asked, on_damage=on_damage, argv=argv
        )
    config = with_stored_compute(config, run, on_damage=on_damage)
    choice = choose(config.model, config.compute)
    if choice.path == "reference" and config.compute.path != "reference":
        notify(f"{config.experiment}: computed on the reference path, slower: {choice.why}")
    _name_missing_kernel(choice, config, notify)
    torch.set_num_threads(config.compute.threads)
    if run.path.is_dir():
        with run.writing():  # fails at once on a busy run, so that a waiting process does not sample its data each time
            pass
    prepared = PreparedRun(config, windows, remember=kept_predictors(out), own=own)
    with run.writing():
        write_label(run, label)
        if _is_over(run, config, on_damage=on_damage):
            return run
        train_run(
            prepared,
            run,
            report=report,
            notify=notify,
            stop_asked=stop_asked,
            on_damage=on_damage,
            argv=argv or sys.argv,
            own=own,
            parent=parent,
        )
    return run


def _is_over(run: RunDirectory, config: RunConfig, *, on_damage: OnDamage) -> bool:
    """Whether a run needs nothing more, once it is the one asked for; with `recover` only if it is whole to the end."""
    run.require_same(run_identity(config), on_damage=on_damage, config_sha256=begun_digests(config))
    if on_damage == "refuse":
        if run.read_manifest() is None:
            return False
        run.read_config()
        return True
    try:
        if run.read_manifest() is None:
            return False
        run.verify()
        run.final_checkpoint()
    except (CorruptData, RunFailed):
        return False
    return True


_NAMED: set[str] = set()
"""What was said already in this process about a missing kernel."""


def _name_missing_kernel(choice: Choice, config: RunConfig, notify: Notify) -> None:
    """Say once why training is slower than it could be."""
    why = kernel.missing() if choice.path == "torch" and config.compute.path == "auto" else None
    if why is not None and why not in _NAMED:
        _NAMED.add(why)
        notify(f"computed by torch alone, several times slower than by the kernel: {why}")
