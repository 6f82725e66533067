"""Libraries that only a part of the probe needs: imported where they are used, named with their extra when missing."""

from __future__ import annotations

import importlib
from typing import Any

from headwise.core.errors import ConfigError


def require(library: str, *, extra: str) -> Any:
    """The library, or one line that says how to get it."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise ConfigError(f"this needs {library} ({error}); install it with: pip install 'headwise[{extra}]'") from None
