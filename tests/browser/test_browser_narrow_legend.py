"""Three runs side by side in a notebook's width: every number of a legend can be seen without scrolling."""

from __future__ import annotations

from pathlib import Path

from synthetic_runs import member

from headwise.view.report import write_runs_page


def test_legends_of_heads_and_groups_fit_their_panels(open_page, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    write_runs_page(file, [member(0, {"task": {"m": m, "d": 50}}) for m in (1.0, 1.3, 1.7)])
    page = open_page(file, width=950).page
    legends = page.locator(".legend:has(.matrix)")
    assert legends.count() >= 3
    for legend in legends.all():
        inside, room = legend.evaluate("one => [one.scrollWidth, one.clientWidth]")
        assert inside <= room
    assert page.locator(".panels.studies").count() == 1
