"""Shows a stored run to the public `headwise.watch` as if it were training now.

A better probe or detector then needs no new training.

Weights are read at looks alone, so only those are put into the model; losses are given step by step, and the stored
validation loss through `validation=`.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.atomic import replace_file
from headwise.zoo.kinds import find_kind
from headwise.zoo.stored import Stored, read_run

if TYPE_CHECKING:
    import xarray as xr

    from headwise.probe.live import Watch


def replay(stored: Stored, *, corpus: Any = None) -> Watch:
    """The watch after the run; it has the trajectory and gives the report. `corpus`: as of `headwise.watch`."""
    import torch

    from headwise.probe.live import watch
    from headwise.zoo.truth.shares import put_weights

    model = find_kind(stored.kind).make(stored.setting, stored.seed).model
    model.eval()
    shown = getattr(model, "watched", model)
    look = {int(step): index for index, step in enumerate(stored.looks)}
    put_weights(model, stored, 0)
    at = 0
    watched = watch(
        shown,
        tokens=torch.as_tensor(stored.tokens),
        every=[int(step) for step in stored.looks],
        validation=lambda _: float(stored.validation_loss[look[at]]),
        corpus=corpus,
    )
    with watched:
        for at, loss in enumerate(stored.train_loss, start=1):
            if at in look:
                put_weights(model, stored, look[at])
            watched.step(float(loss))
    return watched


def replayed(mark: Path) -> xr.Dataset:
    """The trajectory of a stored run, kept beside it for as long as the probe's sources stay the same."""
    kept = mark.parent / "trajectories" / f"{mark.stem}-{sources_hash('probe', 'core')[:12]}.npz"
    if not kept.is_file():
        _write(kept, replay(read_run(mark)).trajectory)
    return _read(kept)


def sources_hash(*rooms: str) -> str:
    """SHA-256 of the Python sources of these rooms."""
    import headwise

    root, digest = Path(headwise.__file__).parent, hashlib.sha256()
    for room in rooms:
        for source in sorted((root / room).rglob("*.py")):
            digest.update(str(source.relative_to(root)).encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()


def _write(path: Path, trajectory: xr.Dataset) -> None:
    about = {
        "attributes": trajectory.attrs,
        "dimensions": {str(name): list(value.dims) for name, value in trajectory.variables.items()},
        "coordinates": [str(name) for name in trajectory.coords],
    }
    arrays = {str(name): np.asarray(value.values) for name, value in trajectory.variables.items()}
    arrays = {name: value.astype(str) if value.dtype == object else value for name, value in arrays.items()}
    content = io.BytesIO()
    named: dict[str, Any] = {f"v.{name}": value for name, value in arrays.items()}
    np.savez_compressed(content, about=np.array(json.dumps(about)), **named)
    replace_file(path, content.getvalue())


def _read(path: Path) -> xr.Dataset:
    import xarray as xr

    with np.load(path) as stored:
        about = json.loads(str(stored["about"]))
        parts = {name: (dims, stored[f"v.{name}"]) for name, dims in about["dimensions"].items()}
    coordinates = {name: parts.pop(name) for name in about["coordinates"]}
    return xr.Dataset(parts, coordinates, about["attributes"])
