"""Feature matrices given as an array: kept below the output root, so that a run can be resumed from its config.

The file is named by its content; all runs with these matrices share it.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from headwise.core.atomic import replace_file
from headwise.core.errors import ConfigError

FOLDER = ".features"
"""Below the output root; no name of an experiment begins with a dot."""


def keep_features(features: Any, out: Path | str) -> str:
    """The path of a .npy file with these matrices, (count, d, d), for the key `task.features`."""
    try:
        matrices = np.array(features, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ConfigError(f"features: {error}; give matrices as an array (count, d, d)") from None
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2]:
        raise ConfigError(f"features has the shape {matrices.shape}; give matrices as (count, d, d)")
    content = io.BytesIO()
    np.lib.format.write_array(content, matrices, version=(1, 0), allow_pickle=False)
    whole = content.getvalue()
    path = Path(out) / FOLDER / f"{hashlib.sha256(whole).hexdigest()}.npy"
    if not path.exists():
        replace_file(path, whole, option="--out")
    return str(path)
