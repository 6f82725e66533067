"""Libraries that only some commands need, and the extra of the package that brings each of them.

What needs such a library imports it by `require_library` where it is used, or plainly within a function; the command
line turns a plain import that fails into the same line.
"""

from __future__ import annotations

import importlib
from typing import Any

from headwise.core.errors import ConfigError

EXTRAS = {
    "torch": "train",
    "transformers": "probe",
    "huggingface_hub": "probe",
    "tokenizers": "probe",
    "transformer_lens": "lens",
    "lightning": "lightning",
    "pytorch_lightning": "lightning",
    "dask": "cluster",
    "distributed": "cluster",
    "dask_jobqueue": "cluster",
    "cryptography": "cluster",
    "tensorboard": "track",
    "wandb": "track",
    "zarr": "track",
    "mlflow": "mlflow",
    "trackio": "trackio",
    "jax": "peers",
}
"""Extras by the library that is missing without them."""


def missing_extra(error: ImportError) -> ConfigError | None:
    """One line that names the extra, where the library that could not be found belongs to one.

    >>> print(missing_extra(ModuleNotFoundError("No module named 'torch'", name="torch.nn")))
    this needs torch, which is not installed; install it with: pip install 'headwise[train]'
    """
    library = _top(error.name or "")
    if not isinstance(error, ModuleNotFoundError) or library not in EXTRAS:
        return None
    return ConfigError(f"this needs {library}, which is not installed; {_install(library)}")


def require_library(name: str) -> Any:
    """A library of an extra, or one of its modules; where it is missing or broken, one line that names the extra.

    Called before anything is begun, it also serves to refuse at once.
    """
    library = _top(name)
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and _top(error.name or "") == library:
            raise missing_extra(error) or error from None
        raise ConfigError(f"this needs {library}, which cannot be imported ({error}); {_install(library)}") from None


def _top(name: str) -> str:
    return name.partition(".")[0]


def _install(library: str) -> str:
    return f"install it with: pip install 'headwise[{EXTRAS[library]}]'"
