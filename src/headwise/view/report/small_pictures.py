"""Pictures that fit into a row of a table: a number against its limit, and a few curves.

They are lists of shapes that a template writes as SVG, escaped like all text of the page. Colours are classes of the
page's style, so that pictures follow its light and dark schemes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headwise.core.rounding import rounded, with_interval

WIDTH, LEFT, RIGHT = 280, 10, 270
"""Pixels across, and where the axis begins and ends."""

LOGARITHMIC = 60.0
"""An axis whose ends are further apart than this ratio is logarithmic."""

SIGNS = {"<=": "≤", ">=": "≥"}
"""How comparisons are written for a person."""

MIDDLE = 24
"""Height of a gauge's axis."""

CEILING, FLOOR = 8, 68
"""Where the curves of a sketch begin and end."""

Colour = Literal["group", "head"]


@dataclass(frozen=True)
class SketchCurve:
    """A curve of a sketch: its name, and which colour and dashes it has, counted from 1."""

    name: str
    colour: Colour
    index: int
    y: tuple[float, ...]

    @property
    def kind(self) -> str:
        """The class of its line."""
        return f"{self.colour[0]}{self.index}"


@dataclass(frozen=True)
class Sketch:
    """A few curves over common places: `title` says what is drawn, `x_name` what the places are."""

    title: str
    x_name: str
    x: tuple[float, ...]
    curves: tuple[SketchCurve, ...]
    unit: str = ""
    top: float | None = None
    """Where the axis ends, if not at the largest value."""


@dataclass(frozen=True)
class Shape:
    """An element of a picture: its SVG tag and attributes, what it says when pointed at, and its text."""

    tag: Literal["line", "rect", "path", "circle", "polyline", "text"]
    attributes: Mapping[str, str | float]
    title: str = ""
    text: str = ""


@dataclass(frozen=True)
class Picture:
    """Shapes in a box of `WIDTH` by `height`; `words` say the same to somebody who cannot see it."""

    kind: Literal["gauge", "sketch"]
    height: int
    words: str
    shapes: tuple[Shape, ...]
    top: int = 0
    """Where the box begins: what lies above it is empty."""
    width: int = WIDTH


def gauge(values: Mapping[str, Any]) -> Picture | None:
    """The numbers of a verdict on one axis; `None` where there is nothing to compare them with.

    Reads `measured`, `interval`, `by_seed`, `published` and `limit` (`relation`, `value`). Dots are seeds, the pale bar
    is the interval, the tall line the median, the diamond the printed number; the shaded side keeps the limit.
    """
    measured, published = _number(values.get("measured")), _number(values.get("published"))
    limit, given = values.get("limit"), values.get("by_seed")
    bound = _number(limit.get("value")) if isinstance(limit, Mapping) else None
    seeds = given if isinstance(given, Mapping) else {}
    dots = {str(seed): number for seed, value in seeds.items() if (number := _number(value)) is not None}
    span = finite_pair(values.get("interval"))
    if measured is None or (bound is None and published is None and len(dots) < 2):
        return None
    compared = [value for value in (bound, published) if value is not None]
    at = _axis([measured, *dots.values(), *(span or ()), *compared])
    shapes = [_line("axis", LEFT, MIDDLE, RIGHT, MIDDLE)]
    if bound is not None and isinstance(limit, Mapping):
        shapes += _bound(at(bound), str(limit.get("relation", "")), bound)
    if span is not None and span[1] > span[0]:
        shapes.append(_line("interval", at(span[0]), MIDDLE, at(span[1]), MIDDLE))
    if published is not None:
        x, said = at(published), f"printed {published:g}"
        shapes.append(Shape("path", {"class": "printed", "d": f"M{x:.1f} {MIDDLE - 7}l6 7-6 7-6-7z"}, said))
        shapes.append(_text(x, 10, said))
    for seed, value in dots.items():
        place = {"cx": round(at(value), 1), "cy": MIDDLE, "r": 4}
        shapes.append(Shape("circle", {"class": "seed", **place}, f"seed {seed}: {rounded(value)}"))
    shapes.append(_line("median", at(measured), MIDDLE - 9, at(measured), MIDDLE + 9))
    words = [f"measured {with_interval(measured, span)}"]
    if isinstance(limit, Mapping):
        words.append(with_signs(f"asked for {limit.get('relation')} {limit.get('value')}"))
    if published is not None:
        words.append(f"printed {published:g}")
    empty = 0 if published is not None else MIDDLE - 13
    return Picture("gauge", 48 - empty, ", ".join(words), tuple(shapes), empty)


def sketch_picture(sketch: Sketch) -> Picture:
    """Curves without ticks: where the axes begin and end is written at their corners, names stand below the picture."""
    values = [y for curve in sketch.curves for y in curve.y if math.isfinite(y)]
    low, top = min([0.0, *values]), max([0.0, *values]) if sketch.top is None else sketch.top
    first, last = sketch.x[0], sketch.x[-1]
    shapes = [_line("axis", LEFT, FLOOR, RIGHT, FLOOR), _line("axis", LEFT, CEILING, LEFT, FLOOR)]
    for curve in sketch.curves:
        points = [
            f"{LEFT + (RIGHT - LEFT) * (x - first) / ((last - first) or 1):.1f},"
            f"{FLOOR - (FLOOR - CEILING) * (y - low) / ((top - low) or 1):.1f}"
            for x, y in zip(sketch.x, curve.y, strict=True)
            if math.isfinite(y)
        ]
        shapes.append(Shape("polyline", {"class": curve.kind, "points": " ".join(points)}, curve.name))
    shapes += [
        _text(LEFT + 4, 11, f"{rounded(top)} {sketch.unit}".strip(), anchor="start"),
        _text(LEFT, 80, f"{first:.4g}", anchor="start"),
        _text(RIGHT, 80, f"{sketch.x_name} {last:.4g}", anchor="end"),
    ]
    words = f"{sketch.title}: " + "; ".join(_course(curve, sketch) for curve in sketch.curves)
    return Picture("sketch", 84, words, tuple(shapes))


def with_signs(text: str) -> str:
    """Comparisons in a text as a person writes them."""
    for sign, better in SIGNS.items():
        text = text.replace(sign, better)
    return text


def finite_pair(value: Any) -> tuple[float, float] | None:
    """Two finite numbers, or nothing."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    low, high = _number(value[0]), _number(value[1])
    return None if low is None or high is None else (low, high)


def _course(curve: SketchCurve, sketch: Sketch) -> str:
    finite = [(y, x) for x, y in zip(sketch.x, curve.y, strict=True) if math.isfinite(y)]
    if not finite:
        return f"{curve.name} not measured"
    low, at = min(finite)
    ends = f"{curve.name} from {rounded(finite[0][0])} to {rounded(finite[-1][0])}"
    return f"{ends}, lowest {rounded(low)} at {sketch.x_name} {at:.4g}"


def _short(value: float) -> str:
    return f"{value:g}".replace("e-0", "e-").replace("e+0", "e")


def _bound(x: float, relation: str, value: float) -> list[Shape]:
    """The limit with its number, and the side that keeps it."""
    start, end = (x, RIGHT + 8.0) if relation.startswith(">") else (LEFT - 8.0, x)
    place: dict[str, float] = {"x": round(start, 1), "y": MIDDLE - 11, "width": round(max(end - start, 0), 1)}
    return [
        Shape("rect", {"class": "keeps", **place, "height": 22}),
        _line("limit", x, MIDDLE - 11, x, MIDDLE + 11),
        _text(x, 46, with_signs(f"{relation} {_short(value)}")),
    ]


def _axis(places: Sequence[float]) -> Callable[[float], float]:
    """A function from numbers to pixels that shows all of them with some room at both ends."""
    low, high = min(places), max(places)
    scale: Callable[[float], float] = math.log if low > 0 and high / low > LOGARITHMIC else float
    start, end = scale(low), scale(high)
    if end == start:
        start, end = start - 1, end + 1
    room = 0.06 * (end - start)
    return lambda value: LEFT + (RIGHT - LEFT) * (scale(value) - start + room) / (end - start + 2 * room)


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Shape:
    return Shape("line", {"class": kind, "x1": round(x1, 1), "y1": y1, "x2": round(x2, 1), "y2": y2})


def _text(x: float, y: float, text: str, *, anchor: str = "") -> Shape:
    """Text around a place, kept inside the picture."""
    half = 3.3 * len(text)
    side = anchor or ("start" if x < half else "end" if x > WIDTH - half else "middle")
    return Shape("text", {"x": round(x, 1), "y": y, "text-anchor": side}, text=text)


def _number(value: Any) -> float | None:
    """A finite number, or nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None
