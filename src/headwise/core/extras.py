"""Libraries that only some commands need, and the extra of the package that brings each of them."""

from __future__ import annotations

from headwise.core.errors import ConfigError

EXTRAS = {
    "torch": "train",
    "transformers": "probe",
    "transformer_lens": "lens",
    "dask": "cluster",
    "distributed": "cluster",
    "dask_jobqueue": "cluster",
    "cryptography": "cluster",
    "jax": "peers",
}
"""Extras by the library that is missing without them."""


def missing_extra(error: ImportError) -> ConfigError | None:
    """One line that names the extra, where the library that could not be imported belongs to one.

    >>> print(missing_extra(ModuleNotFoundError("No module named 'torch'", name="torch.nn")))
    this needs torch, which is not installed; install it with: pip install 'headwise[train]'
    """
    library = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or library not in EXTRAS:
        return None
    return ConfigError(
        f"this needs {library}, which is not installed; install it with: pip install 'headwise[{EXTRAS[library]}]'"
    )


def require_library(library: str) -> None:
    """Refuse at once where a library of an extra is missing, before anything is begun."""
    import importlib

    try:
        importlib.import_module(library)
    except ModuleNotFoundError as error:
        raise missing_extra(error) or error from None
