"""A report as a timeline: plain data for a figure, and text for a terminal.

The drawing lives elsewhere; here is only what there is to draw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headwise.core.events import Label
from headwise.phases.reading import Stage
from headwise.phases.report import PhaseReport, RunReport
from headwise.phases.seeds import SeedsReport

WIDTH = 64
NOTHING = "·"


@dataclass(frozen=True)
class Bar:
    """A stretch of one row of the timeline."""

    start: float
    end: float
    label: Label


@dataclass(frozen=True)
class Row:
    """What one head of one block copies over time."""

    block: int
    head: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Timeline:
    """Everything a timeline figure shows of one run."""

    start: float
    end: float
    rows: tuple[Row, ...]
    stages: dict[str, tuple[Stage, ...]]
    offshoots: tuple[tuple[float, int, int, Label], ...]
    competitive: tuple[float, float] | None
    index_steps: np.ndarray
    index: np.ndarray


def timeline_data(report: RunReport) -> Timeline:
    """Rows of bars per head, stages per reading, offshoots as (step, block, head, new pattern), and the index curve."""
    rows = [
        Row(events.block, head, tuple(Bar(c.start, c.end, c.label) for c in block.copying if c.head == head))
        for events, block in zip(report.events, report.blocks, strict=True)
        for head in events.specialisation.final
    ]
    phase = report.competitive
    return Timeline(
        start=report.start,
        end=report.end,
        rows=tuple(rows),
        stages={name: reading.stages for name, reading in report.readings.items()},
        offshoots=tuple((o.step, o.block, o.head, o.target) for o in report.offshoots),
        competitive=(phase.start, phase.end) if phase else None,
        index_steps=report.index_steps,
        index=report.index.mean(axis=1) if report.index is not None else np.zeros(0),
    )


def render(report: PhaseReport) -> str:
    """The report as text for a terminal: a line per head and per reading, then what happened and what to know."""
    if isinstance(report, SeedsReport):
        return _render_seeds(report)
    if isinstance(report, RunReport):
        return "\n".join(_render_run(report))
    raise TypeError(f"cannot render {type(report).__name__}")


def _render_run(report: RunReport) -> list[str]:
    data = timeline_data(report)
    several = len(report.events) > 1
    lines = [f"{'step':>10}  {data.start:<.6g}{data.end:>{WIDTH - len(f'{data.start:<.6g}')}.6g}"]
    symbols = _symbols(report)
    for row in data.rows:
        name = f"head {row.block}.{row.head}" if several else f"head {row.head}"
        lines.append(f"{name:>10}  {_bar_line(row, data, symbols)}")
    for name, stages in data.stages.items():
        if stages:
            lines.append(f"{name:>10}  {_stage_line(stages, data)}  {len(stages)} stage{'s' * (len(stages) > 1)}")
    if data.rows:
        lines.append(f"{'':>10}  " + "  ".join(f"{s} = {_pattern_text(report, label)}" for label, s in symbols.items()))
    return [*lines, "", *_sentences(report)]


def _sentences(report: RunReport) -> list[str]:
    several = len(report.events) > 1
    lines = []
    if report.competitive:
        lines.append(f"competitive phase from {report.competitive.start:.4g} to {report.competitive.end:.4g}")
    for o in report.offshoots:
        where = f" of block {o.block}" if several else ""
        lines.append(f"offshoot at {o.step:.4g}: head {o.head}{where} leaves pattern {o.source} for pattern {o.target}")
    for item in report.compensation:
        dip = item.deepest
        if dip is not None and dip.depth < 0 and dip.step is not None:
            end = "and recovers" if dip.recovers else "and stays there"
            lines.append(
                f"compensation for pattern {item.offshoot.target}: head {dip.head} goes {dip.depth:.2f} of the gain "
                f"against it, deepest at {dip.step:.4g}, {end}"
            )
        elif dip is not None:
            lines.append(f"compensation for pattern {item.offshoot.target}: none beyond the noise")
    for events in report.events:
        place = f" in block {events.block}" if several else ""
        for label, owners in events.specialisation.duplicates.items():
            lines.append(f"heads {', '.join(map(str, owners))} end on the same pattern {label}{place}")
    if report.function.stages:
        lines.append(f"order of predictors {report.function.order}: {report.function.reason}")
    if report.agreement.agrees is not None:
        lines.append("the readings agree" if report.agreement.agrees else "the readings do not agree")
    return [*lines, *report.agreement.notes, *report.notes]


def _render_seeds(report: SeedsReport) -> str:
    json = report.to_json()
    lines = [f"{len(report.runs)} seeds; the reference is seed {report.names[report.reference]}"]
    for name, stages in json["stages"].items():
        places = ", ".join(
            f"{s['start']:.4g} [{s['start_interval'][0]:.4g}, {s['start_interval'][1]:.4g}]" for s in stages[1:]
        )
        share = stages[0]["share"] if stages else 0.0
        lines.append(
            f"{name}: {len(stages)} stages in {share:.0%} of seeds" + (f", boundaries {places}" if places else "")
        )
    phase = json["competitive"]
    if phase["start"] is not None:
        lines.append(
            f"competitive phase from {phase['start']:.4g} to {phase['end']:.4g} in {phase['share']:.0%} of seeds"
        )
    lines += [
        f"offshoot {o['from']} to {o['to']}: {o['step']:.4g} [{o['interval'][0]:.4g}, {o['interval'][1]:.4g}], "
        f"{o['share']:.0%} of seeds, head {o['head']} of the reference"
        for o in json["offshoots"]
    ]
    lines += [
        f"compensation for pattern {c['to']}: {c['depth']:.2f} of the gain, {c['share']:.0%} of seeds"
        for c in json["compensation"]
    ]
    lines += [f"seed {name}: {how}" for name, how in report.disagreements]
    return "\n".join(
        [*lines, "", f"seed {report.names[report.reference]}:", *_render_run(report.runs[report.reference])]
    )


def _symbols(report: RunReport) -> dict[Label, str]:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return {
        p.label: str(p.label) if isinstance(p.label, int) and p.label < 10 else letters[i % len(letters)]
        for i, p in enumerate(report.heads.patterns)
    }


def _pattern_text(report: RunReport, label: Label) -> str:
    lags = next(p.lags for p in report.heads.patterns if p.label == label)
    return f"lags {','.join(map(str, lags))}" if lags else f"group {label}"


def _cells(data: Timeline) -> np.ndarray:
    return data.start + (np.arange(WIDTH) + 0.5) / WIDTH * (data.end - data.start)


def _bar_line(row: Row, data: Timeline, symbols: dict[Label, str]) -> str:
    return "".join(
        next((symbols[bar.label] for bar in row.bars if bar.start <= t <= bar.end), NOTHING) for t in _cells(data)
    )


def _stage_line(stages: tuple[Stage, ...], data: Timeline) -> str:
    line = []
    cell = (data.end - data.start) / WIDTH
    for t in _cells(data):
        inside = next((i for i, s in enumerate(stages) if s.start <= t <= s.end), None)
        edge = any(abs(s.start - t) <= cell / 2 for s in stages[1:])
        line.append("|" if edge else NOTHING if inside is None else "─")
    return "".join(line)
