"""Names as a person reads them, in plain text: the page draws them on canvases and reads them to screen readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwise.core.predictors import predictor_label
from headwise.core.variables import DIMENSIONS
from headwise.phases.role_names import pattern_words

if TYPE_CHECKING:
    import xarray as xr

    from headwise.core.events import Label, Offshoot
    from headwise.phases.run_report import RunReport

MOST_NAMED = 4
"""Offshoots that a sentence can name one by one."""


def coordinate_labels(trajectory: xr.Dataset) -> dict[str, list[Any]]:
    """What the entries of every dimension are called, as its row says; numbers stay numbers, times are left out."""
    labels: dict[str, list[Any]] = {}
    for dim, row in DIMENSIONS.items():
        if dim not in trajectory.sizes or row.entries == "times":
            continue
        values = trajectory[dim].values.tolist() if dim in trajectory.coords else range(1, trajectory.sizes[dim] + 1)
        if row.entries == "numbers":
            labels[dim] = list(values)
        elif dim == "predictor":
            labels[dim] = [predictor_label(str(value), "unicode") for value in values]
        else:
            labels[dim] = [row.entry.format(value) for value in values]
    return labels


def phase_sentence(report: RunReport) -> str:
    """What happened in a run, in a few words under the title."""
    parts: list[str] = []
    if report.competitive:
        start, end = report.competitive.start, report.competitive.end
        parts.append(f"all heads compete for one pattern from {moment(start)} to {moment(end)}")
    if len(report.offshoots) > MOST_NAMED:
        first, last = report.offshoots[0].step, report.offshoots[-1].step
        count = len(report.offshoots)
        parts.append(f"{count} heads leave for other patterns between {moment(first)} and {moment(last)}")
    else:
        parts += [_offshoot_words(offshoot, several_blocks=len(report.blocks) > 1) for offshoot in report.offshoots]
    sentence = "; ".join(parts)
    return sentence[:1].upper() + sentence[1:]


def _offshoot_words(offshoot: Offshoot, *, several_blocks: bool) -> str:
    where = f" of block {offshoot.block}" if several_blocks else ""
    return (
        f"head {offshoot.head}{where} leaves {pattern_name(offshoot.source)} for {pattern_name(offshoot.target)} "
        f"at {moment(offshoot.step)}"
    )


def moment(time: float) -> str:
    """A step or a flow's time, as precise as a person wants it."""
    return f"{time:.0f}" if abs(time) >= 100 else f"{time:.3g}"


def pattern_name(label: Label) -> str:
    """A group by its number, as on the page's panels; a pattern that was found by its lags."""
    return f"I({label})" if isinstance(label, int) else pattern_words(label)
