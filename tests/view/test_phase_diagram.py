"""Phase diagrams from a table: medians, what is not detected, counts that are lower bounds, claims."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwise.core.errors import ConfigError
from headwise.study.collect import last_fall
from headwise.view.phase_diagram import Diagram, phase_diagram
from headwise.view.sheets.diagram import cell_text, diagram_sheet, legend_text, ticks, whole_levels
from headwise.view.write import write_sheet


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two m, two u, three seeds; the cell (1.5, 1e-9) had not ended, the cell (1, 1e-3) has no competitive phase."""
    rows = []
    for m in (1.5, 1.0):
        for u in (1e-3, 1e-9):
            for seed in range(3):
                slow = (m, u) == (1.5, 1e-9)
                rows.append(
                    {
                        "run": f"{m}-{u}-{seed}",
                        "config.task.m": m,
                        "config.model.init_scale": u,
                        "stages.loss": 2 if slow else 3 if seed else 2,
                        "competitive.end": None
                        if (m, u) == (1.0, 1e-3)
                        else 100.0 + 10 * seed
                        if seed or slow
                        else None,
                        "order": "holds" if seed else "does not apply",
                        "final.fall": 0.0,
                        "final.kl.prefix_1": 2.0,
                        "final.kl.prefix_2": 0.3,
                        "final.kl.prefix_3": 0.5 if slow and seed else 0.1,
                    }
                )
    path = tmp_path / "runs.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def read(table: Path, quantity: str) -> Diagram:
    return phase_diagram(table, x="task.m", y="model.init_scale", quantity=quantity)


def test_counts_and_lower_bounds(table: Path) -> None:
    stages = read(table, "stages")
    assert (stages.x, stages.y) == ([1.0, 1.5], [1e-9, 1e-3])
    np.testing.assert_array_equal(stages.median, [[3, 2], [3, 3]])
    np.testing.assert_array_equal(stages.lower_bound, [[False, True], [False, False]])
    assert cell_text(stages, 0, 1) == ("≥2", "")
    assert cell_text(stages, 1, 1) == ("3", "2–3")
    assert whole_levels(stages) == [2, 3]


def test_what_is_not_detected_is_told(table: Path) -> None:
    ends = read(table, "competitive-end")
    np.testing.assert_array_equal(ends.median, [[115, 110], [np.nan, 115]])
    np.testing.assert_array_equal(ends.found, [[2, 3], [0, 2]])
    assert cell_text(ends, 1, 0) == ("–", "")
    assert cell_text(ends, 0, 0) == ("115", "110–120 2/3")
    assert "–: detected in no seed" in legend_text([ends])
    assert "≥" not in legend_text([ends])


def test_a_claim_counts_seeds(table: Path) -> None:
    order = read(table, "order")
    np.testing.assert_array_equal(order.median, np.full((2, 2), 2))
    assert legend_text([order]) == "3 runs per cell."


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    path.write_text("not a table")
    with pytest.raises(ConfigError, match="headwise collect"):
        phase_diagram(path, x="task.m", y="train.lr", quantity="stages")


def test_unknown_names_are_told(table: Path) -> None:
    with pytest.raises(ConfigError, match="take one of"):
        read(table, "beauty")
    with pytest.raises(ConfigError, match=r"no run has the key task\.mm"):
        phase_diagram(table, x="task.mm", y="seed", quantity="stages")


def test_it_is_drawn_with_and_without_detections(table: Path, tmp_path: Path) -> None:
    sheet = diagram_sheet([read(table, name) for name in ("stages", "competitive-end", "order")])
    write_sheet(sheet, tmp_path / "d.pdf")
    assert (tmp_path / "d.pdf").stat().st_size > 5000
    written = (tmp_path / "d.csv").read_text().splitlines()
    assert written[0] == "quantity,task.m,model.init_scale,median,low,high,found,runs,lower_bound"
    assert "competitive-end,1,0.001,,,,0,3,False" in written
    assert len(written) == 1 + 3 * 4


def test_ticks() -> None:
    assert ticks([1e-9, 1e-1]) == ["$10^{-9}$", "$10^{-1}$"]
    assert ticks([0.0, 1e-9]) == ["0", "1e-09"]
    assert ticks([1.0, 10.0]) == ["1", "10"]
    assert ticks(["SGD", "AdamW"]) == ["SGD", "AdamW"]


def test_last_fall() -> None:
    steps = np.arange(0, 101, 10)
    assert last_fall(steps, np.linspace(11, 1, 11)) == pytest.approx(0.5)
    assert last_fall(np.array([0]), np.array([1.0])) is None
    assert last_fall(steps, np.full(11, np.nan)) is None
