"""What happened to a run and when: one JSON object a line, appended and flushed, for people and for `tail -f`.

The log is the one file of a run that grows and that holds times; nothing is resumed from it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headwise.core.system_errors import os_errors_reported, reading
from headwise.store.plain import portable_json


def now() -> str:
    """The time in UTC, as logs and manifests write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def append_event(path: Path, event: str, fields: Mapping[str, Any]) -> None:
    """Add one line; a torn line of a killed writer is closed first, so that it spoils only itself."""
    if clash := {"event", "time"} & set(fields):
        raise ValueError(f"a log line has its own {', '.join(sorted(clash))}; call the field otherwise")
    line = portable_json({"event": event, "time": now(), **fields}).encode() + b"\n"
    with os_errors_reported(path), open(path, "ab+") as file:
        if file.seek(0, os.SEEK_END) > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                line = b"\n" + line
        file.write(line)


def read_events(path: Path) -> list[dict[str, Any]]:
    """Every whole line of a log, in order; torn ones are left out."""
    try:
        with reading(path):
            lines = path.read_bytes().splitlines()
    except OSError:
        return []
    events: list[dict[str, Any]] = []
    for line in lines:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            events.append(event)
    return events
