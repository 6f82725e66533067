"""The benchmark's output has the promised keys, is JSON, and becomes a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwise.bench import growth, run
from headwise.bench.cases import NAMES, paper_sizes
from headwise.bench.floor import operations
from headwise.bench.memory import peak_gigabytes
from headwise.bench.page import page
from headwise.bench.run import run_benchmark
from headwise.bench.text import render
from headwise.bench.timing import interleaved, ratio, spread
from headwise.model import kernel

PATHS = {"torch", "kernel"} if kernel.missing() is None else {"torch"}


@pytest.fixture(scope="module")
def result() -> dict[str, object]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "VALUES", {"batch": (1500, 3000), "d": (25, 50)})
        patch.setattr(run, "peak_gigabytes", lambda case, path, batch: 0.125 * len(case + path))
        found = run_benchmark(batch=40, repeats=2)
    return json.loads(json.dumps(found, allow_nan=False))


def test_keys(result: dict[str, dict]) -> None:
    for key in ("ratio", "ratio_chunked", "ratio_spread"):
        assert set(result[key]) == set(NAMES)
        assert all(set(paths) == PATHS for paths in result[key].values())
    for key in ("seconds", "memory"):
        assert set(result[key]) == set(NAMES)
    assert set(result["floor"]) == {*NAMES, "operations_per_second"}
    assert set(result["grad_error"]) == set(NAMES) - {"evaluation"}
    assert set(result["growth"]) == {"batch", "d"}
    for case, paths in result["ratio"].items():
        for path, value in paths.items():
            assert value == pytest.approx(result["seconds"][case]["plain"] / result["seconds"][case][path])


def test_text_and_page_name_the_machine_and_every_number(result: dict[str, dict]) -> None:
    text, written = render(result), page(result)
    assert result["machine"]["processor"] in written
    assert max(map(len, text.split("\n"))) <= 80
    for case, paths in result["ratio"].items():
        assert case in text
        for path, value in paths.items():
            assert f"{value:.1f}" in text
            assert f"{value:.1f} (" in written
            assert f"{result['memory'][case][path]:.2f}" in written


def test_the_page_in_the_docs_is_that_of_the_stored_measurement() -> None:
    """`python -m headwise.bench.page docs/performance.json` writes it anew after a change of its words."""
    docs = Path(__file__).parents[2] / "docs"
    measured = json.loads((docs / "performance.json").read_text())
    assert (docs / "performance.md").read_text() == page(measured)


def test_a_page_from_a_poor_measurement_says_so(result: dict[str, dict]) -> None:
    quiet = result | {
        "machine": result["machine"] | {"load": 0.1},
        "settings": result["settings"] | {"repeats": 7, "clock": "wall"},
    }
    assert "Provisional" not in page(quiet)
    assert "only 2 repeats" in page(quiet | {"settings": quiet["settings"] | {"repeats": 2}})
    assert "load 3.0" in page(quiet | {"machine": quiet["machine"] | {"load": 3.0}})


def test_operations_by_hand() -> None:
    sizes = paper_sizes("minimal", batch=1)
    # Three heads; query q of 0..19 sees 6 + q keys; fifty columns; forward once, backward twice; two per product.
    assert operations("minimal", sizes) == 2 * 3 * (3 * sum(range(6, 26)) * 50)


def test_operations_of_two_blocks_by_hand() -> None:
    sizes = paper_sizes("two_minimal_blocks", batch=1)
    first = 3 * sum(range(1, 32)) * 81
    # The second reads 81 coordinates at 31 positions: queries of 20, values of all, scores, and the mixing.
    second = 81 * (20 * 3 * 81 + 31 * 3 * 50) + 3 * sum(range(12, 32)) * (81 + 50)
    assert operations("two_minimal_blocks", sizes) == 2 * 3 * (first + second)


def test_timing_counts_every_repeat_once() -> None:
    calls: list[str] = []
    seconds = interleaved({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeats=3)
    assert calls == ["a", "b"] * 4
    assert [len(times) for times in seconds.values()] == [3, 3]
    assert ratio([2.0, 4.0, 6.0], [1.0, 2.0, 4.0]) == 2.0
    assert spread([2.0, 4.0, 6.0], [1.0, 1.0, 3.0]) == [2.0, 4.0]


def test_memory_is_that_of_a_whole_process() -> None:
    assert 0.05 < peak_gigabytes("minimal", "torch", batch=10) < 0.5
