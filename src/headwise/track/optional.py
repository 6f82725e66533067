"""Packages that only one tracker or one kind of file needs: imported where they are used, named when missing."""

from __future__ import annotations

import importlib
from typing import Any

from headwise.core.errors import ConfigError


def need(package: str, *, install: str) -> Any:
    """The package, or one line that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ConfigError(f"this needs {package} ({error}); install it with: pip install '{install}'") from None
