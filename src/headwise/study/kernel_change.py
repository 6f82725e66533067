"""Whether a resumed run is computed by the kernel it was begun with.

Another kernel computes the same function with other roundings: an unfinished run may be resumed with it, but does not
end bit for bit like one that was never stopped. The log says so; no result depends on it.
"""

from __future__ import annotations

from headwise.model import kernel
from headwise.model.engine import Engine
from headwise.store import RunDirectory


def kernel_of(engine: Engine) -> dict[str, str] | None:
    """The kernel that an engine computes with; `None` on the other paths."""
    return kernel.identity() if engine.name == "kernel" else None


def kernel_change(run: RunDirectory, engine: Engine) -> str | None:
    """One line if a run goes on with another kernel than the one in its log, or if its log names none."""
    present = kernel_of(engine)
    if present is None:
        return None
    beginnings = [event for event in run.read_log() if event.get("event") == "started"]
    begun = beginnings[-1].get("kernel") if beginnings else None
    if not isinstance(begun, dict):
        return (
            "resumed; its log does not name the kernel it was begun with, so the last bits of its results may differ "
            "from those of a run never stopped"
        )
    changed = [f"{part} {begun.get(part)}, now {value}" for part, value in present.items() if begun.get(part) != value]
    if not changed:
        return None
    return (
        f"resumed with another kernel than it was begun with ({'; '.join(changed)}), so the last bits of its results "
        "may differ from those of a run never stopped"
    )
