"""The text of a run's summary: its last losses and distances, a table of its heads, and where they looked over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headwise.core.text import NO_BREAK, text_table, wrap
from headwise.phases.heads_now import heads_now, heads_text
from headwise.phases.importance_text import importance_parts

if TYPE_CHECKING:
    import xarray as xr

MOMENTS = 11
"""Rows of the table over time."""


def summary_text(title: str, final: Mapping[str, Any], trajectory: xr.Dataset | None) -> str:
    """All parts that a run has, for a terminal of 80 columns."""
    parts = [title]
    if "excess_loss" in final:
        parts.append(f"excess loss {_number(final['excess_loss'])}")
    if final.get("kl"):
        distances = "  ".join(f"{name}{NO_BREAK}{_number(value)}" for name, value in final["kl"].items())
        parts.append(wrap(distances, indent="KL from ", hanging=" " * 8))
    if "attention_by_group" in final:
        parts += ["", "attention by group", heads_table(final)]
    if trajectory is not None and "attention_by_group" in trajectory:
        parts += ["", "which group each head looks at most over training (share of its attention)"]
        parts.append(moments_table(trajectory))
    elif trajectory is not None and trajectory.sizes.get("step"):
        parts += watched_parts(final, trajectory)
    if trajectory is not None:
        parts += importance_parts(trajectory)
    return "\n".join(parts)


def watched_parts(final: Mapping[str, Any], trajectory: xr.Dataset) -> list[str]:
    """The losses and the heads of somebody's own model, of which no groups are known."""
    parts = []
    if isinstance(final.get("loss"), Mapping):
        losses = "  ".join(f"{name}{NO_BREAK}{_number(value)}" for name, value in final["loss"].items())
        parts.append(wrap(losses, indent="loss ", hanging=" " * 5))
    if found := heads_now(trajectory):
        last = f"{trajectory['step'].values[-1]:g}"
        parts += ["", f"what each head looks at most, at step {last} (L0H0 is block 1, head 1)", heads_text(found)]
    return parts


def heads_table(final: Mapping[str, Any]) -> str:
    """One row a head at the last evaluation: its attention on each group and the pattern it copies."""
    blocks = final["attention_by_group"]
    groups = len(blocks[0][0])
    copied = final["copies"] or [[None] * len(heads) for heads in blocks]
    rows = [
        (str(block), str(head), *map(_number, shares), _pattern(pattern))
        for block, (heads, patterns) in enumerate(zip(blocks, copied, strict=True), start=1)
        for head, (shares, pattern) in enumerate(zip(heads, patterns, strict=True), start=1)
    ]
    columns = ("block", "head", *(f"group {k}" for k in range(1, groups + 1)), "copies")
    return text_table(columns, rows, align="rr" + "r" * groups + "l", repeat=2)


def moments_table(trajectory: xr.Dataset) -> str:
    """The group that each head looks at most at about ten moments, and the excess loss there."""
    shares = trajectory["attention_by_group"]
    blocks, heads = shares.sizes["block"], shares.sizes["head"]
    evaluations = shares.sizes["step"]
    rows = []
    for index in sorted({round(i * (evaluations - 1) / (MOMENTS - 1)) for i in range(MOMENTS)}):
        now = shares.isel(step=index)
        step = f"{now['step'].item():.6g}"
        values = now.transpose("block", "head", "group").values.reshape(blocks * heads, -1)
        cells = [f"{int(one.argmax()) + 1}{NO_BREAK}({one.max():.2f})" for one in values]
        excess = [f"{float(trajectory['excess_loss'][index]):.3f}"] if "excess_loss" in trajectory else []
        rows.append((step, *excess, *cells))
    names = [f"head {h + 1}" if blocks == 1 else f"head {b + 1}.{h + 1}" for b in range(blocks) for h in range(heads)]
    before = ["step", "excess loss"] if "excess_loss" in trajectory else ["step"]
    return text_table((*before, *names), rows, align="r" * len(before), repeat=1)


def _pattern(label: int | str | None) -> str:
    return "nothing" if label is None else f"group {label}" if isinstance(label, int) else f"lags {label}"


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.3f}"
