"""The benchmark's output has the promised keys, is JSON, and becomes a page."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headwise.bench import growth, run
from headwise.bench.cases import NAMES, paper_sizes
from headwise.bench.floor import operations
from headwise.bench.limits import FASTER, Limit, auto, faster, memory
from headwise.bench.memory import peak_gigabytes
from headwise.bench.others import COUNTERS, Others
from headwise.bench.page import forget, page
from headwise.bench.run import run_benchmark
from headwise.bench.text import render
from headwise.bench.timing import interleaved, ratio, spread
from headwise.core.errors import ConfigError
from headwise.model import kernel

PATHS = {"torch", "kernel"} if kernel.missing() is None else {"torch"}


@pytest.fixture(scope="module")
def result() -> dict[str, object]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "VALUES", {"batch": (1500, 3000), "d": (25, 50)})
        patch.setattr(run, "peak_gigabytes", lambda case, path, batch: 0.125 * len(case + path))
        found = run_benchmark(batch=40, repeats=2, parts=[part for part in run.PARTS if part not in ("sizes", "study")])
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
    assert set(result["levels"]) == (set(NAMES) if "kernel" in PATHS else set())
    assert {"levels", "growth", *NAMES} - set(result["others"]) <= ({"levels"} - PATHS)
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
    """`python -m headwise.bench.page --write` writes it anew after a change of its words."""
    docs = Path(__file__).parents[2] / "docs"
    measured = json.loads((docs / "performance.json").read_text())
    assert (docs / "performance.md").read_text() == page(measured)


def test_limits_are_kept_by_the_median_within_its_repeats_or_not() -> None:
    def measured(kernel: float, spread: list[float]) -> dict[str, dict]:
        return {
            "seconds": {"minimal": {"plain": 28.5, "reference": 10.0, "kernel": kernel}},
            "ratio_spread": {"minimal": {"kernel": spread}},
        }

    limit = Limit("minimal", "plain", 28.5)
    assert faster(measured(1.0, [28.0, 29.0]), limit) == (28.5, [28.0, 29.0], "yes")
    assert faster(measured(2.0, [14.0, 28.6]), limit) == (14.25, [14.0, 28.6], "within its repeats")
    assert faster(measured(2.0, [14.0, 28.4]), limit) == (14.25, [14.0, 28.4], "no")
    assert faster(measured(4.0, [7.0, 99.0]), Limit("minimal", "reference", 2.6)) == (2.5, None, "no")
    assert faster(measured(1.0, [1.0, 1.0]), Limit("full", "plain", 1.0)) is None

    def chosen(*ratios: float) -> dict[str, dict]:
        cells = {str(n): {"ratio": r, "interval": [r - 0.1, r + 0.1]} for n, r in enumerate(ratios)}
        return {"auto": {"sizes": {"full": {"d": cells}}}}

    assert [auto(chosen(0.9, worst)).kept for worst in (1.1, 1.15, 1.3)] == ["yes", "within its repeats", "no"]
    assert auto({"auto": {}}) is None
    assert memory({"memory": {"full": {"plain": 2.0, "kernel": 0.3}, "minimal": {"kernel": 0.7}}}) == (0.7, None, "no")


def test_the_page_says_which_limits_are_kept(result: dict[str, dict]) -> None:
    written = page(result)
    assert ("## What it is held to" in written) == ("kernel" in PATHS)
    if "kernel" in PATHS:
        assert all(f"at least {limit.least} |" in written for limit in FASTER)


def test_a_page_from_a_poor_measurement_says_so(result: dict[str, dict]) -> None:
    quiet = result | {
        "machine": result["machine"] | {"load": 0.1},
        "others": {},
        "settings": result["settings"] | {"repeats": 7, "clock": "wall"},
    }
    assert "Provisional" not in page(quiet)
    assert "only 2 repeats" in page(quiet | {"settings": quiet["settings"] | {"repeats": 2}})
    assert "load 3.0" in page(quiet | {"machine": quiet["machine"] | {"load": 3.0}})
    busy = {"minimal": 0.01, "full": 1.5}
    assert "other work kept 1.5 cores busy during step of the full model" in page(quiet | {"others": busy})


def test_a_benchmark_that_was_stopped_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []

    def times(case: str, sizes: object, **settings: object) -> dict[str, object]:
        measured.append(case)
        if len(measured) == 3:
            raise KeyboardInterrupt
        return {"seconds": {"plain": 2.0, "torch": 1.0}, "ratio": {"torch": 2.0}}

    monkeypatch.setattr(run, "case_times", times)
    kept: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        run_benchmark(batch=40, repeats=2, parts=["times"], keep=lambda found: kept.append(json.dumps(found)))
    before = json.loads(kept[-1])
    assert list(before["seconds"]) == list(NAMES[:2])
    done = run_benchmark(batch=40, repeats=2, parts=["times"], before=before)
    assert measured == [*NAMES[:3], *NAMES[2:]]
    assert set(done["seconds"]) == set(NAMES)
    with pytest.raises(ConfigError, match="cannot be continued"):
        run_benchmark(batch=41, repeats=2, parts=["times"], before=before)


def test_what_is_forgotten_is_measured_again(result: dict[str, dict]) -> None:
    cell = {"ratio": 1.0, "interval": [1.0, 1.0]}
    stored = json.loads(json.dumps(result)) | {
        "study": {"minimal": {}},
        "auto": {"sizes": {"full": {"d": {"10": cell}}}},
    }
    for name in ("full", "study", "full.d.10"):
        forget(stored, name)
        with pytest.raises(KeyError):
            forget(stored, name)
    assert stored["study"] == {}
    assert stored["auto"]["sizes"] == {"full": {"d": {}}}
    again = run_benchmark(batch=40, repeats=2, parts=["times"], before=stored)
    assert set(again["seconds"]) == set(NAMES)
    assert again["seconds"]["minimal"] == result["seconds"]["minimal"]
    assert again["seconds"]["full"] != result["seconds"]["full"]


@pytest.mark.skipif(not COUNTERS.exists(), reason="this system does not count the work of others")
def test_other_processes_are_counted_and_this_one_is_not() -> None:
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        others, start = Others(), time.process_time()
        while time.process_time() < start + 0.5:
            pass
        assert (others.cores() or 0.0) > 0.2
    finally:
        busy.kill()
        busy.wait()


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
