"""Small runs that tests of actions begin, branch and train on, without a directory."""

from __future__ import annotations

from headwise.store import Checkpoint
from headwise.study.config import RunConfig
from headwise.study.prepared_run import PreparedRun
from headwise.training.loop import advance

STARTED = {"model__init_scale": 0.5, "model__init": "xavier", "model__init_values": "xavier", "train__lr": 0.01}
"""Heads that differ and learn from the first step on."""


def advanced(prepared: PreparedRun) -> PreparedRun:
    """Trained to its last step."""
    advance(
        prepared.training,
        rows=prepared.rows,
        validate=prepared.evaluator.validation_loss,
        observe=lambda training: None,
        save=lambda training: None,
    )
    return prepared


def branched(
    config: RunConfig, begun: Checkpoint, actions: tuple[str, ...], *, held: tuple[str, ...] = ()
) -> PreparedRun:
    """A branch of the run that was begun, trained to its last step; `held` goes on from that run and has no means."""
    about = {"parent": "0" * 64, "step": begun.step, "actions": actions, "held": held}
    prepared = PreparedRun(config.changed({"branch": about}), {})
    prepared.restore(begun)
    assert prepared.held is not None
    prepared.held.begin()
    return advanced(prepared)
