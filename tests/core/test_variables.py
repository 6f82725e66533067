"""The table of variables is consistent in itself: what reads a row finds what it needs there."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwise.core.variables import DIMENSIONS, PANEL_ORDER, ROWS, VARIABLES, Variable
from headwise.core.variables_page import render

PAGE = Path(__file__).parents[2] / "docs" / "variables.md"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_is_complete(row: Variable) -> None:
    assert set(row.dimensions) <= set(DIMENSIONS)
    assert DIMENSIONS[row.dimensions[0]].entries == "times"
    assert all(DIMENSIONS[dim].entries != "times" for dim in row.dimensions[1:]), "one time axis"
    assert all(fact.about.endswith(".") for fact in (row, *(DIMENSIONS[dim] for dim in row.dimensions)))
    assert row.title
    low, high = row.limits
    assert low is None or high is None or low < high
    assert not row.gathered or row.dimensions[0] == "step", "only what has a step is gathered"
    for panel in row.page:
        assert panel.kind in PANEL_ORDER
        assert panel.kind != "curves" or row.dimensions[0] == "step", "curves run over steps"


def test_names_are_used_once() -> None:
    assert len(VARIABLES) == len(ROWS)


def test_variables_that_share_a_panel_can_be_chosen_and_compared() -> None:
    """A menu offers them by different words, and one axis holds them all."""
    panels: dict[tuple[str, str], list[tuple[Variable, str]]] = {}
    for row in ROWS:
        for panel in row.page:
            panels.setdefault((panel.kind, panel.title or row.title), []).append((row, panel.choice))
    shared = [rows for rows in panels.values() if len(rows) > 1]
    assert shared
    for rows in shared:
        assert len({choice for _, choice in rows} - {""}) == len(rows)
        assert len({row.unit for row, _ in rows}) == 1


def test_axis_labels() -> None:
    assert VARIABLES["excess_loss"].axis_label == "excess loss (nats)"
    assert VARIABLES["kl"].axis_label == "KL (nats)"
    assert VARIABLES["value_coefficient"].axis_label == "value coefficient"


def test_the_page_is_up_to_date() -> None:
    command = "python -m headwise.core.variables_page docs/variables.md"
    assert PAGE.read_text(encoding="utf-8") == render(), f"run: {command}"


def test_a_line_on_the_page_can_be_named() -> None:
    """A variable with no dimension but time is one line, called by its axis name: plain text, no formula."""
    for row in ROWS:
        if row.dimensions == ("step",):
            assert "$" not in row.axis_name


def test_panels_of_attention_draw_one_variable_each() -> None:
    """The script takes attention by lag from the strips' variable and maps from the overlay's."""
    drawn = {kind: {row.name for row in ROWS for panel in row.page if panel.kind == kind} for kind in PANEL_ORDER}
    assert drawn["strips"] == drawn["lags"] == {"attention_by_lag"}
    assert drawn["overlay"] == drawn["singles"] == {"attention_map"}
