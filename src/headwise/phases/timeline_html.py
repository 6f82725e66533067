"""The timeline as a small piece of HTML for a notebook: one SVG and the sentences, nothing loaded from elsewhere.

All text goes through `escape`: names of predictors may come from anybody's file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from headwise.core.palette import group_colour
from headwise.phases.timeline import Timeline, pattern_text

LEFT, WIDTH, ROW, GAP = 96, 620, 20, 4
"""Pixels: room for the names on the left, width of the run, height of a row, and space between two rows."""
CHARACTER = 7
"""Pixels a character takes at most; a text that does not fit its bar is left out, and stays as a tooltip."""
STAGE_COLOURS = ("#d0d0d0", "#a8a8a8")
COMPETITIVE_COLOUR = "#80808033"


def timeline_html(data: Timeline) -> str:
    """A row of bars per head and per view, a line at each offshoot, the competitive phase shaded; then sentences."""
    data = data.shortened()
    return f"<div>{_svg(data)}{_legend(data)}{sentences_html(data.sentences)}</div>"


def sentences_html(sentences: Sequence[str]) -> str:
    """Sentences as a list."""
    return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in sentences)}</ul>"


def _svg(data: Timeline) -> str:
    views = {name: stages for name, stages in data.stages.items() if stages}
    rows = len(data.rows) + len(views)
    height = (rows + 1) * (ROW + GAP)
    bottom = height - ROW - GAP
    parts = [*_competitive(data, bottom), *_heads(data)]
    for y, stages in enumerate(views.values(), start=len(data.rows)):
        for i, stage in enumerate(stages):
            colour = STAGE_COLOURS[i % len(STAGE_COLOURS)]
            parts.append(_bar(data, y, stage.start, stage.end, str(stage.label), colour))
    parts += _offshoots(data, bottom)
    for y, name in enumerate((*data.head_names, *views)):
        parts.append(_text(LEFT - 6, y, name, anchor="end"))
    parts.append(_text(LEFT, rows, f"{data.start:.6g}", anchor="start"))
    parts.append(_text(LEFT + WIDTH, rows, f"{data.end:.6g}", anchor="end"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="phase timeline" '
        f'width="{LEFT + WIDTH + 8}" height="{height}" font-family="sans-serif" font-size="12">{"".join(parts)}</svg>'
    )


def _competitive(data: Timeline, bottom: float) -> Iterator[str]:
    if data.competitive is not None:
        x, width = _extent(data, data.competitive.start, data.competitive.end)
        title = f"competitive phase from {data.competitive.start:.4g} to {data.competitive.end:.4g}"
        yield _rectangle(x, 0, width, bottom, COMPETITIVE_COLOUR, title)


def _offshoots(data: Timeline, bottom: float) -> Iterator[str]:
    for offshoot in data.offshoots:
        x, _ = _extent(data, offshoot.step, offshoot.step)
        yield (
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}" stroke="currentColor" '
            f'stroke-dasharray="2 3"><title>offshoot at {offshoot.step:.4g}</title></line>'
        )


def _heads(data: Timeline) -> Iterator[str]:
    place = {pattern.label: i for i, pattern in enumerate(data.patterns)}
    for y, row in enumerate(data.rows):
        for bar in row.bars:
            yield _bar(data, y, bar.start, bar.end, str(bar.label), group_colour(place[bar.label]))


def _legend(data: Timeline) -> str:
    if not data.rows:
        return ""
    entries = (
        f'<span style="white-space:nowrap;margin-right:1em"><span style="display:inline-block;width:0.9em;'
        f'height:0.9em;background:{group_colour(i)}"></span> {escape(str(pattern.label))}: '
        f"{escape(pattern_text(pattern))}</span>"
        for i, pattern in enumerate(data.patterns)
        if pattern.label in data.drawn
    )
    return f"<div>{' '.join(entries)}</div>"


def _extent(data: Timeline, start: float, end: float) -> tuple[float, float]:
    """Where a stretch of time begins and how wide it is, in pixels; a run of one evaluation fills the width."""
    length = data.end - data.start
    if length <= 0:
        return float(LEFT), float(WIDTH)
    return LEFT + (start - data.start) / length * WIDTH, (end - start) / length * WIDTH


def _bar(data: Timeline, y: int, start: float, end: float, label: str, colour: str) -> str:
    x, width = _extent(data, start, end)
    bar = _rectangle(x, y * (ROW + GAP), width, ROW, colour, f"{label}: {start:.4g} to {end:.4g}")
    fits = len(label) * CHARACTER <= width
    return bar + (_text(x + width / 2, y, label, anchor="middle", ink=_ink(colour)) if fits else "")


def _ink(colour: str) -> str:
    """Black on a light colour, white on a dark one, by the brightness of its red, green and blue."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def _rectangle(x: float, y: float, width: float, height: float, colour: str, title: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}" fill="{colour}">'
        f"<title>{escape(title)}</title></rect>"
    )


def _text(x: float, y: int, text: str, *, anchor: str, ink: str = "currentColor") -> str:
    middle = y * (ROW + GAP) + ROW / 2
    return (
        f'<text x="{x:.1f}" y="{middle:.1f}" dy="0.35em" text-anchor="{anchor}" fill="{ink}" '
        f'pointer-events="none">{escape(text)}</text>'
    )
