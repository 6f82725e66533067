"""A run and its branches on one page: one time axis, the intervention marked, differences as curves."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from synthetic_runs import member, trajectory

from headwise.core.variables import VARIABLES
from headwise.view.report import Member, write_runs_page

TITLE, AT = "Run and branches", 200.0


def parent(seed: int = 0) -> Member:
    return replace(member(seed), digest=f"{seed:064d}")


def branch(seed: int = 0, *, slower: float = 0.3, action: str = "freeze:heads=2") -> Member:
    """The run from step 200 on, with a loss that falls later and heads 2 and 3 exchanged."""
    run = trajectory(seed=seed)
    late = run.isel(step=run["step"].values >= AT)
    late["excess_loss"] = late["excess_loss"] + slower * (late["step"] - AT) / 800 + 0.01 * seed
    late["attention_by_group"] = late["attention_by_group"].isel(head=[0, 2, 1]).assign_coords(head=late["head"])
    about = {"step": int(AT), "actions": [action], "parent": f"{seed:064d}"}
    settings: dict[str, Any] = {"experiment": "minimal-branch", "seed": seed, "branch": about}
    return Member(late.assign_attrs(branch=about), f"branch-s{seed}", seed=seed, config=settings)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("branches") / "page.html"
    write_runs_page(file, [parent(), branch(), branch(slower=0.6, action="tie")])
    return file


def panel_of(page):
    return page.locator(".panel", has=page.get_by_role("heading", name=TITLE, exact=True, level=3))


def downloaded(page) -> dict[str, np.ndarray]:
    with page.expect_download() as download:
        page.get_by_label(f"Download the data of {TITLE} as CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
    return {key: np.array([float(row[key] or "nan") for row in rows]) for key in rows[0]}


def test_curves_and_differences_are_those_of_the_runs(open_page, path: Path) -> None:
    watched = open_page(path)
    page, run = watched.page, parent().trajectory
    steps, late = run["step"].values, run["step"].values >= AT
    found = downloaded(page)
    assert (found["step"] == steps).all()
    for one in (branch(), branch(slower=0.6, action="tie")):
        name = f"branch at step 200: {one.config['branch']['actions'][0]}"
        excess = one.trajectory["excess_loss"].values
        label = VARIABLES["excess_loss"].axis_name
        assert found[f"{name}: {label}"][late] == pytest.approx(excess, abs=1e-6)
        gap = found[f"{name} minus its run: {label}"]
        assert gap[late] == pytest.approx(excess - run["excess_loss"].values[late], abs=1e-6)
        assert np.isnan(gap[~late]).all()
    panel = panel_of(page)
    panel.get_by_label("Which variable").select_option(value="attention_by_group")
    watched.settle()
    panel.get_by_label("Which curve").select_option(label="head 2, I(2)")
    watched.settle()
    gap = downloaded(page)["branch at step 200: tie minus its run: head 2, I(2)"]
    shares = run["attention_by_group"].values[late, 0, :, 1]
    assert gap[late] == pytest.approx(shares[:, 2] - shares[:, 1], abs=1e-6)
    assert not watched.complaints


def test_the_moment_of_the_intervention_is_marked(open_page, path: Path) -> None:
    watched = open_page(path)
    page = watched.page
    marks = page.get_by_role("button", name="Branch: freeze:heads=2 from step 200 on")
    assert marks.count() == 1
    assert "left: 20%" in marks.get_attribute("style")
    page.evaluate("headwise.goTo(900)")
    marks.click()
    watched.settle()
    assert watched.state() == AT
    # With the slider elsewhere, the only dashed line of a branch's colour is that of the intervention.
    page.evaluate("headwise.goTo(900)")
    watched.settle()
    place = (
        panel_of(page)
        .locator("canvas")
        .nth(1)
        .evaluate(
            """canvas => { const {width, height} = canvas;
            const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;
            let best = 0, found = -1;
            for (let x = 0; x < width; x++) {
              let count = 0;
              for (let y = 0; y < height; y++) {
                const [r, g, b, a] = data.slice(4 * (y * width + x), 4 * (y * width + x) + 4);
                if (a > 0 && Math.max(r, g, b) - Math.min(r, g, b) > 60) count++;
              }
              if (count > best) { best = count; found = x; }
            }
            const box = canvas.parentElement.querySelector('.u-over').getBoundingClientRect();
            const own = canvas.getBoundingClientRect();
            return ((found / width) * own.width + own.left - box.left) / box.width; }"""
        )
    )
    assert place == pytest.approx(AT / 1000, abs=0.01)


@pytest.mark.parametrize("width", [360, 1440])
def test_it_fits_the_screen_and_axe_finds_nothing(open_page, path: Path, width: int) -> None:
    watched = open_page(path, width=width)
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = [panel_of(watched.page).locator(".plot").nth(n).bounding_box() for n in (0, 1)]
    assert all(box is not None and box["width"] > 200 for box in boxes)
    assert (boxes[0]["y"] == boxes[1]["y"]) == (width == 1440), "one above the other where there is no room"
    assert Axe().run(watched.page).violations_count == 0
    assert not watched.complaints


def test_seeds_are_compared_with_the_run_of_their_own_seed(open_page, tmp_path: Path) -> None:
    write_runs_page(tmp_path / "seeds.html", [parent(0), parent(1), branch(0), branch(1)])
    watched = open_page(tmp_path / "seeds.html")
    found = downloaded(watched.page)
    gaps = []
    for seed in (0, 1):
        run, mine = parent(seed).trajectory, branch(seed).trajectory
        gaps.append(mine["excess_loss"].values - run["excess_loss"].values[run["step"].values >= AT])
    [name] = [key for key in found if "minus its run" in key]
    assert found[name][found["step"] >= AT] == pytest.approx(np.median(gaps, axis=0), abs=1e-6)
    assert not watched.complaints


def test_trajectories_without_a_directory(open_page, tmp_path: Path) -> None:
    """The first that is no branch is taken for the run; a branch alone has nothing to be compared with."""
    run, mine = replace(parent(), digest=None), branch()
    write_runs_page(tmp_path / "two.html", [mine, run])
    assert panel_of(open_page(tmp_path / "two.html").page).count() == 1
    write_runs_page(tmp_path / "other.html", [mine, replace(run, digest="f" * 64)])
    assert panel_of(open_page(tmp_path / "other.html").page).count() == 0
    write_runs_page(tmp_path / "alone.html", [mine])
    watched = open_page(tmp_path / "alone.html")
    assert panel_of(watched.page).count() == 0
    assert not watched.complaints
