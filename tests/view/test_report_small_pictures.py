"""Pictures in rows: every number is where it belongs, on the right side of its limit, and inside the picture."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from headwise.view.report import Sketch, SketchCurve
from headwise.view.report import small_pictures as drawn_module
from headwise.view.report.palette import DASHES, PALETTE
from headwise.view.report.small_pictures import WIDTH, Picture, gauge, sketch_picture

STYLE = (Path(drawn_module.__file__).parent / "static" / "tables.css").read_text(encoding="utf-8")


def shapes(picture: Picture, kind: str) -> list[dict[str, float]]:
    found = [shape.attributes for shape in picture.shapes if shape.attributes.get("class") == kind]
    return [{name: float(value) for name, value in one.items() if name not in ("class", "d")} for one in found]


def keeps(picture: Picture, x: float) -> bool:
    """Whether a place is on the shaded side."""
    (box,) = shapes(picture, "keeps")
    return box["x"] <= x <= box["x"] + box["width"]


@pytest.mark.parametrize("relation", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("seed", range(5))
def test_a_number_stands_on_the_side_that_it_is_on(relation: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    numbers = {str(k): float(v) for k, v in enumerate(random.normal(size=4) * 10.0 ** random.integers(-3, 3))}
    bound = float(random.normal())
    picture = gauge(
        {
            "measured": float(np.median(list(numbers.values()))),
            "interval": [min(numbers.values()), max(numbers.values())],
            "by_seed": numbers,
            "limit": {"relation": relation, "value": bound},
        }
    )
    assert picture is not None
    dots = [dot["cx"] for dot in shapes(picture, "seed")]
    assert len(dots) == 4
    for x, value in zip(dots, numbers.values(), strict=True):
        assert 0 <= x <= WIDTH
        (limit,) = shapes(picture, "limit")
        if abs(x - limit["x1"]) > 0.2:
            assert keeps(picture, x) == ((value < bound) if relation.startswith("<") else (value > bound))
    order = [dots[i] for i in np.argsort(list(numbers.values()))]
    assert order == sorted(order)
    (bar,) = shapes(picture, "interval")
    assert (bar["x1"], bar["x2"]) == pytest.approx((min(dots), max(dots)), abs=0.11)


def test_numbers_far_apart_are_on_a_logarithmic_axis() -> None:
    values = {"by_seed": {"0": 1e-9, "1": 1e-6, "2": 1e-3}, "measured": 1e-6, "limit": {"relation": "<", "value": 1.0}}
    picture = gauge(values)
    assert picture is not None
    dots = [dot["cx"] for dot in shapes(picture, "seed")]
    assert dots[1] - dots[0] == pytest.approx(dots[2] - dots[1], abs=0.2)
    assert dots[2] + (dots[1] - dots[0]) == pytest.approx(shapes(picture, "limit")[0]["x1"], abs=0.3)


def test_what_cannot_be_compared_has_no_picture() -> None:
    assert gauge({}) is None
    assert gauge({"measured": 1.0}) is None
    assert gauge({"measured": float("nan"), "limit": {"relation": "<", "value": 1.0}}) is None
    assert gauge({"measured": {"a": 1}, "limit": "<", "by_seed": [1, 2], "interval": 3}) is None
    assert gauge({"measured": 1.0, "limit": {"relation": "<", "value": "x"}}) is None
    assert gauge({"measured": 1.0, "published": 1.0}) is not None


def test_a_sketch_draws_its_curves_to_scale() -> None:
    curve = SketchCurve("f", "group", 2, (2.0, 0.0, 1.0))
    picture = sketch_picture(Sketch("KL from", "step", (0.0, 50.0, 100.0), (curve,), unit="nats"))
    (line,) = [shape for shape in picture.shapes if shape.tag == "polyline"]
    points = np.array([[float(v) for v in pair.split(",")] for pair in str(line.attributes["points"]).split()])
    assert points[1, 0] - points[0, 0] == pytest.approx(points[2, 0] - points[1, 0])
    assert points[1, 1] - points[0, 1] == pytest.approx(2 * (points[1, 1] - points[2, 1]), abs=0.2)
    assert line.attributes["class"] == "g2"
    assert picture.words == "KL from: f from 2 to 1, lowest 0 at step 50"


def test_the_colours_of_rows_are_those_of_figures_and_pages() -> None:
    """Light ones first, then twice the dark ones: by the system's scheme, and by choice."""
    for letter, kind in (("g", "groups"), ("h", "heads")):
        for index in range(len(PALETTE[kind]["light"])):  # type: ignore[call-overload]
            found = re.findall(rf"--{letter}{index + 1}: (#\w+);", STYLE)
            light, dark = (PALETTE[kind][scheme][index] for scheme in ("light", "dark"))  # type: ignore[call-overload]
            assert found == [light, dark, dark]
    for index, dashes in enumerate(DASHES[1:4], start=2):
        rule = re.search(rf"\.sketch \.g{index} {{ [^}}]*stroke-dasharray: ([\d ]+);", STYLE)
        assert rule is not None
        assert rule[1] == " ".join(map(str, dashes))
