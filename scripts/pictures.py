"""The pictures of README and docs, made anew: runs are trained where they are missing, pages are opened in a browser.

    python scripts/pictures.py --runs runs/pictures              # all of them, about five minutes of one core
    python scripts/pictures.py --runs runs/pictures --only watch report

It needs the requirements of the tests and a chromium on the path.
"""

from __future__ import annotations

import argparse
import re
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright

import headwise
from headwise.core.atomic import replace_file

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
CHROMIUM = runpy.run_path(str(ROOT / "tests" / "browser" / "chromium_here.py"))
SEEDS = (0, 1, 2)
OF_THE_DEMO = {"train.steps": 1000, "measure.at.dense": [[1, 1, 1]], "measure.bayes": [1, 2, 3]}
"""The run of `make demo`, whose picture the README shows."""
SEED_OF_THE_DEMO = 6


def minimal_run(runs: Path, seed: int) -> Path:
    """The published minimal model, trained if it is not there."""
    config = headwise.experiment("minimal", changes={**OF_THE_DEMO, "seed": seed})
    headwise.train(config, out=runs)
    [found] = (runs / "minimal").glob(f"*-s{seed}")
    return found


def photograph(
    page: Path, name: str, *, width: int, height: int, at: float, dark: bool = False, scale: int = 1
) -> None:
    """A page at a time of its run, as a window of this size shows it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM["find_chromium"](), args=list(CHROMIUM["FLAGS"]))
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            device_scale_factor=scale,
        )
        shown = context.new_page()
        shown.goto(page.as_uri())
        while not shown.evaluate("Boolean(window.headwise && window.headwise.ready)"):
            shown.wait_for_timeout(30)
        shown.evaluate(f"headwise.goTo({at})")
        while not shown.evaluate("window.headwise.settled()"):
            shown.wait_for_timeout(30)
        replace_file(IMAGES / f"{name}.png", shown.screenshot())
        browser.close()


def minimal(runs: Path, folder: Path) -> None:
    """What `make demo` draws."""
    headwise.draw_run(minimal_run(runs, SEED_OF_THE_DEMO), folder / "minimal.png")
    replace_file(IMAGES / "minimal.png", (folder / "minimal.png").read_bytes())


def watch(runs: Path, folder: Path) -> None:
    """The page of the README's first block."""
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    torch.manual_seed(0)
    with chdir(folder):
        exec(compile(code[1], "README.md", "exec"), {})
    photograph(folder / "heads.html", "watch", width=1180, height=1060, at=60)


def report(runs: Path, folder: Path) -> None:
    """A run by day, three seeds by night and on a phone, a run beside the flow."""
    members = [minimal_run(runs, seed) for seed in SEEDS]
    flow = headwise.keep_flow(out=runs).run
    pages: dict[str, Path | list[Path]] = {"run": members[0], "seeds": members, "both": [members[0], flow]}
    for name, what in pages.items():
        headwise.page(what, folder / f"{name}.html")
    photograph(folder / "run.html", "report-light", width=1440, height=1560, at=640)
    photograph(folder / "seeds.html", "report-dark", width=1440, height=1560, at=640, dark=True)
    photograph(folder / "seeds.html", "report-phone", width=360, height=780, at=640, scale=2)
    photograph(folder / "both.html", "report-comparison", width=1440, height=1000, at=640)


def tutorial(runs: Path, folder: Path) -> None:
    """Heads of a small GPT-2 by lag, from the example of docs/probe.md."""
    command = [sys.executable, str(ROOT / "examples" / "watch_gpt2.py"), "--out", str(folder / "watch_gpt2")]
    subprocess.run(command, check=True)
    [drawn] = (folder / "watch_gpt2").glob("*.png")
    replace_file(IMAGES / "probe_heads_by_lag.png", drawn.read_bytes())


PICTURES: dict[str, Callable[[Path, Path], None]] = {
    "minimal": minimal, "watch": watch, "report": report, "tutorial": tutorial
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("runs/pictures"), help="where runs are kept")
    parser.add_argument("--only", nargs="+", choices=list(PICTURES), default=list(PICTURES))
    given = parser.parse_args()
    runs = given.runs.resolve()
    for name in given.only:
        with tempfile.TemporaryDirectory() as folder:
            PICTURES[name](runs, Path(folder))
        print(f"{name}: drawn", flush=True)


if __name__ == "__main__":
    main()
