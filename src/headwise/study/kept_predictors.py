"""Predictors that take long to compute, kept below an output root so that all runs of a task share them.

A file is named by everything its content depends on. One that is damaged is computed again: nothing is lost but time.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt
from filelock import FileLock

from headwise.core.atomic import replace_file
from headwise.store.tensors import decode_tensors, encode_tensors
from headwise.task.bayes import Compute, Remember

FOLDER = ".predictors"
"""Below the output root; no name of an experiment begins with a dot."""


def kept_predictors(out: Path | str) -> Remember:
    """Keep what is computed below this output root; of several processes one computes and the others wait for it."""
    folder = Path(out) / FOLDER

    def remember(key: str, compute: Compute) -> Mapping[str, npt.NDArray[np.floating]]:
        path = folder / f"{key}.safetensors"
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{key}.lock"):
            with suppress(FileNotFoundError, ValueError):
                return decode_tensors(path.read_bytes())[0]
            arrays = {name: np.asarray(array) for name, array in compute().items()}
            replace_file(path, encode_tensors(arrays, metadata={"key": key}), option="--out")
            return arrays

    return remember
