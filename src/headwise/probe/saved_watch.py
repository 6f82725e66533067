"""What a watch says about itself when it is kept as a run directory."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.head_counts import counts_attribute
from headwise.core.seeds import check_seed
from headwise.probe.observers import token_ids
from headwise.probe.schedule import as_written
from headwise.store import describe_run
from headwise.store.save_run import save_trajectory

if TYPE_CHECKING:
    from headwise.probe.live import Watch

LONGEST_NAME = 58
"""Characters of a label in the name of a folder."""


def save_watch(w: Watch, out: Path | str, *, label: str | None, seed: int, started: str, ended: str) -> Path:
    """Write what was recorded so far as a run below `out`; the same records are found again."""
    if label is not None and (not isinstance(label, str) or not label.strip()):
        raise ConfigError(f"label = {label!r} is no name; give a word or two, such as label='small model'")
    check_seed(seed)
    trajectory = w.trajectory
    config = watch_config(w, label=label, seed=seed)
    about = describe_run(
        status="finished",
        steps=int(trajectory["step"].values[-1]),
        device=_device(w.model),
        threads=_threads(),
        argv=sys.argv,
        started=started,
        ended=ended,
        engine="watch",
    )
    name = folder_name(f"watch-{label or config['model']}")
    return save_trajectory(trajectory, out, experiment=name, config=config, seed=seed, about=about)


def watch_config(w: Watch, *, label: str | None, seed: int) -> dict[str, Any]:
    """The settings of a watch, as the run keeps them; token ids are named by their digest."""
    probe, seen = w.probe, w.seen
    sequences, length = probe.batch.tokens.shape[:2]
    ids = token_ids(probe.batch)
    shown = np.ascontiguousarray((probe.batch.tokens if ids is None else ids).detach().cpu().numpy())
    return {
        "source": "watch",
        "label": label,
        "model": seen.model,
        "adapter": seen.adapter,
        "blocks": len(seen.layers),
        "heads": seen.heads,
        **counts_attribute(seen.heads_by_layer),
        "every": as_written(w.every),
        "sequences": int(sequences),
        "length": int(length),
        "lags": probe.lags,
        "queries": probe.queries,
        "induction": probe.induction,
        "roles": [role.name for role in probe.roles],
        "predictors": probe.distances is not None,
        **({"metrics": list(w.metrics)} if w.metrics else {}),
        # A watch without it is named as it was before there was any.
        **({} if probe.importance is None else {"importance": probe.importance.cadence}),
        **({} if probe.importance is None else {"importance_of": probe.importance.of}),
        "tokens": hashlib.sha256(shown.tobytes()).hexdigest(),
        "seed": seed,
    }


def folder_name(text: str) -> str:
    """A name that every file system takes, as close to the text as it can be."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in text)[:LONGEST_NAME]


def _device(model: Any) -> str:
    from headwise.probe.torch_model import device_of, unwrapped

    return str(device_of(unwrapped(model)))


def _threads() -> int:
    import torch

    return torch.get_num_threads()
