"""Every figure shows the numbers of its CSV: every sheet and every figure of the manifest."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from headwise.flow.config import FlowConfig
from headwise.flow.simulate import simulate
from headwise.paper import draw as paper_draw
from headwise.paper.entry import Evidence, Figure
from headwise.paper.manifest import ENTRIES
from headwise.paper.plan import Plan
from headwise.paper.verdicts_page import illustrations
from headwise.phases.detection import detect
from headwise.study.config import Preset
from headwise.view.draw import draw_sheet
from headwise.view.panels import Sheet
from headwise.view.sheets.heads import heads_sheet
from headwise.view.sheets.heads_by_lag import heads_by_lag
from headwise.view.sheets.overview import overview
from headwise.view.sheets.phases import phase_sheet
from headwise.view.sheets.run import run_sheet
from headwise.view.sheets.training import training_sheet
from headwise.view.table import to_csv

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "browser"))
from drawn_numbers import Written, assert_drawn_is_written
from synthetic_runs import trajectory

PREDICTORS = ("prefix_1", "prefix_2", "prefix_3", "window_4", "window_8", "window_12")


def run_like(seed: int = 0, **shape: object) -> xr.Dataset:
    """A synthetic run that has everything a figure of the manifest may ask for."""
    run = trajectory(seed=seed, **shape)
    more = np.stack([run["kl"].values[:, i % 3] * (1 + 0.1 * i + 0.01 * seed) for i in range(6)], axis=1)
    run = run.drop_dims("predictor").assign_coords(predictor=list(PREDICTORS))
    run["kl"] = (("step", "predictor"), more)
    return run.assign_attrs(teacher_loss=0.6)


def all_written(sheet: Sheet) -> None:
    assert_drawn_is_written(sheet, draw_sheet(sheet), to_csv(sheet))


SHEETS: dict[str, Callable[[], Sheet]] = {
    "overview": lambda: overview([run_like()]),
    "overview of seeds": lambda: overview([run_like(seed) for seed in range(3)]),
    "overview of two blocks, eight heads": lambda: overview([run_like(heads=8, blocks=2)]),
    "overview without maps": lambda: overview([run_like().drop_dims("snapshot")]),
    "overview of one evaluation": lambda: overview([run_like(evaluations=1, snapshots=1)]),
    "training": lambda: training_sheet([run_like(seed) for seed in range(3)]),
    "heads": lambda: heads_sheet([run_like(seed) for seed in range(3)]),
    "heads by lag": lambda: heads_by_lag(run_like(blocks=2, evaluations=13)),
    "heads by lag, one evaluation": lambda: heads_by_lag(run_like(evaluations=1)),
    "phases": lambda: phase_sheet(run_like(), detect(run_like())),
    "phases of two blocks": lambda: phase_sheet(run_like(blocks=2), detect(run_like(blocks=2))),
    "flow": lambda: run_sheet(simulate(FlowConfig(start="B", t_end=200.0))),
    "short flow": lambda: run_sheet(simulate(FlowConfig(start="B", t_end=0.3))),
}


@pytest.mark.parametrize("name", SHEETS)
def test_a_sheet_shows_what_its_table_holds(name: str) -> None:
    all_written(SHEETS[name]())


def test_numbers_that_are_missing_are_neither_drawn_nor_written() -> None:
    run = run_like()
    run["excess_loss"][40:] = np.nan
    run["kl"][40:] = np.nan
    run["attention_by_lag"][40:] = np.nan
    for sheet in (overview([run, run_like(1)]), heads_by_lag(run)):
        all_written(sheet)
        assert "nan" not in to_csv(sheet)


def test_the_comparison_finds_a_wrong_number() -> None:
    sheet = overview([run_like(seed) for seed in range(2)])
    text = to_csv(sheet)
    lines = text.splitlines(keepends=True)
    for wrong in (3, 400, len(lines) // 2, len(lines) - 1):
        fields = lines[wrong].rstrip("\n").split(",")
        column = max(i for i, field in enumerate(fields) if i > 1 and field)
        fields[column] = str(float(fields[column]) + 0.01)
        changed = "".join([*lines[:wrong], ",".join(fields) + "\n", *lines[wrong + 1 :]])
        with pytest.raises(AssertionError):
            assert_drawn_is_written(sheet, draw_sheet(sheet), changed)


EVERYTHING = Plan(tuple(ENTRIES.values()), ("published", "text"), "quick", (0, 1), Path("nowhere"))
FIGURES = [
    (entry, preset)
    for figures in (EVERYTHING.entries, illustrations(EVERYTHING))
    for entry in figures
    if isinstance(entry, Figure)
    for preset in entry.presets
]
"""What `reproduce --all` draws: the figures and tables of the manifest, and those of claims that have none there."""


@pytest.mark.parametrize(("entry", "preset"), FIGURES, ids=[f"{entry.name}-{preset}" for entry, preset in FIGURES])
def test_every_figure_of_the_paper(
    entry: Figure,
    preset: Preset,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    written: Written,
) -> None:
    runs = [run_like(seed, evaluations=41, snapshots=5) for seed in range(2)]
    evidence = Evidence(preset, "quick", (0, 1), dict.fromkeys(entry.experiments, runs))
    monkeypatch.setattr(paper_draw, "gather", lambda *_: evidence)
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: None)  # the files are tested elsewhere
    plan = Plan((entry,), (preset,), "quick", (0, 1), tmp_path)
    said: list[str] = []
    (shown,) = paper_draw.draw_all(plan, tmp_path, said.append)
    picture = shown.picture
    assert said == [f"wrote {tmp_path / entry.name}-{preset}.png, .pdf and .csv"]
    (sheet,), (figure, again) = written.sheets, written.figures
    assert figure is again
    assert_drawn_is_written(sheet, figure, picture.with_suffix(".csv").read_text())
    assert written.paths == [picture, picture.with_suffix(".pdf")]
