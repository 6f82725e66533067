"""Size, first paint and redraw time of report pages, in a real chromium.

    python scripts/measure_report.py [RUN ...]

Without runs it makes a run of 200 snapshots and a study of ten such seeds with the sizes of the published minimal
model. Prints one line per page and exits with 1 where a limit is missed: 1.5 MB for a run, 5 MB for a study, first
paint within a second, 95 of 100 redraws of the slider within 33 ms. A redraw is the time that the page takes in a
frame; frame to frame also counts what else the machine does, so the same page at rest is given beside it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from headwise.view.report import Member, read_member, write_runs_page

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))
from chromium_here import FLAGS, find_chromium
from synthetic_runs import member

LIMITS = {"run": 1.5e6, "study": 5.0e6}
FIRST_PAINT_MS = 1000.0
REDRAW_MS = 33.0
LOADS = 5

DRIVE = """async (moving) => {
    const times = headwise.times(), work = [], gaps = [];
    let before = null;
    for (let k = 0; k < 300; k++) {
        // Callbacks of one frame run in the order in which they were asked for: a clock, the page's redraw, a clock.
        const start = new Promise(done => requestAnimationFrame(() => done(performance.now())));
        if (moving) headwise.goTo(times[(7 * k) % times.length]);
        const end = new Promise(done => requestAnimationFrame(() => done(performance.now())));
        work.push(await end - await start);
        const now = await end;
        if (before !== null) gaps.push(now - before);
        before = now;
    }
    return {work, gaps};
}"""


def main(paths: list[str]) -> int:
    """Measure and print; the exit code says whether all limits were met."""
    chromium = find_chromium()
    if chromium is None:
        print("no chromium on the path: nothing measured")
        return 1
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        met = [measure(browser, name, members, Path(folder)) for name, members in pages(paths)]
        browser.close()
    return 0 if all(met) else 1


def pages(paths: list[str]) -> list[tuple[str, list[Member]]]:
    """What to measure: the runs given, or a run and a study made up for this."""
    if paths:
        return [("run" if len(paths) == 1 else "study", [read_member(path) for path in paths])]
    seeds = [member(seed, evaluations=201, snapshots=200, steps=2000) for seed in range(10)]
    return [("run", seeds[:1]), ("study", seeds)]


def measure(browser: Browser, name: str, members: list[Member], folder: Path) -> bool:
    """One line about one page."""
    file = folder / f"{name}.html"
    size = write_runs_page(file, members)
    paints, ready = [], []
    for _ in range(LOADS):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(file.as_uri())
        while not page.evaluate("Boolean(window.headwise && headwise.ready)"):
            page.wait_for_timeout(20)
        paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        ready.append(page.evaluate("performance.now()"))
        if len(paints) == LOADS:
            result: dict[str, Any] = page.evaluate(DRIVE, True)
            idle: dict[str, Any] = page.evaluate(DRIVE, False)
        page.close()
    work, gaps = np.array(result["work"]), np.array(result["gaps"])
    met = size < LIMITS[name] and np.median(paints) < FIRST_PAINT_MS and np.quantile(work, 0.95) < REDRAW_MS
    print(
        f"{name:<6} {len(members):>2} run(s)  {size / 1e6:.2f} MB  first paint {np.median(paints):.0f} ms  "
        f"ready {np.median(ready):.0f} ms  redraw median {np.median(work):.1f} ms, 95th percentile "
        f"{np.quantile(work, 0.95):.1f} ms  frame to frame median {np.median(gaps):.1f} ms, 95th "
        f"percentile {np.quantile(gaps, 0.95):.1f} ms "
        f"(page at rest: {np.quantile(idle['gaps'], 0.95):.1f} ms)  "
        f"{'met' if met else 'MISSED'}"
    )
    return bool(met)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
