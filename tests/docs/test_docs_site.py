"""The site builds without a warning and without the network, and holds nothing from outside."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.docs.page_blocks import ROOT

pytest.importorskip("material", reason="the extra docs is not installed")

SHOWN = (
    "index.html",
    "tutorials/first-run.html",
    "reference/config.html",
    "reference/commands.html",
    "reference/paper.html",
    "explanation/paper.html",
)
"""Pages of every kind: text, code, pictures, wide tables, a page within a page; each is tried with every look."""
LOOKS = {"light": ("light", 1440, 900), "dark": ("dark", 1440, 900), "phone": ("light", 360, 740)}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; where the system allows it, built without any network."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    alone = ["unshare", "--net", "--map-root-user"]
    if shutil.which("unshare") and subprocess.run([*alone, "true"], capture_output=True).returncode == 0:
        build = [*alone, *build]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.mark.slow
def test_nothing_is_loaded_from_outside(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source)[^>]*\ssrc=\"([^\"]+)\"", text)
        loaded += re.findall(r"<link[^>]*rel=\"(?:stylesheet|preconnect|icon)\"[^>]*href=\"([^\"]+)\"", text)
        assert [address for address in loaded if re.match(r"(https?:)?//", address)] == [], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet


@pytest.mark.slow
def test_what_may_be_typed_has_no_backslash_of_a_table(site: Path) -> None:
    """`--preset published|redrawn|text` is a cell of a table: its bars are escaped in the source, not on the page."""
    assert "<code>--preset published|redrawn|text</code>" in (site / "reference" / "commands.html").read_text()
    for page in site.rglob("*.html"):
        assert not re.search(r"<code>[^<]*\\\|", page.read_text(encoding="utf-8")), page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright
    from tests.browser.chromium_here import FLAGS, find_chromium

    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no chromium on the path")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield opened
        opened.close()


def check(browser: Any, page: Path, look: str) -> None:
    """axe finds nothing, nothing is fetched, nothing sticks out."""
    from axe_playwright_python.sync_playwright import Axe

    scheme, width, height = LOOKS[look]
    opened = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": height})
    opened.set_default_timeout(120_000)
    fetched: list[str] = []
    opened.on("request", lambda request: fetched.append(request.url))
    opened.goto(page.as_uri())
    opened.wait_for_timeout(300)
    beyond = opened.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    found = Axe().run(opened).response["violations"]
    opened.close()
    assert [url for url in fetched if url.startswith("http")] == [], page
    assert beyond <= 0, page
    assert found == [], (page, look, [(rule["id"], [node["target"] for node in rule["nodes"]]) for rule in found])


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("look", LOOKS)
def test_it_can_be_looked_at(site: Path, browser: Any, look: str) -> None:
    """In a browser, light, dark and on a phone."""
    for name in SHOWN:
        check(browser, site / name, look)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_page_of_a_run_is_alive_within_the_site(site: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_default_timeout(120_000)
    page.goto((site / "index.html").as_uri())
    run = page.frame_locator("iframe.live")
    run.locator("canvas").first.wait_for()
    assert run.get_by_text("Unpacking the run").count() == 0
    page.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_it_can_be_searched_from_a_folder(site: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto((site / "index.html").as_uri())
    box = page.get_by_role("textbox", name="Search")
    box.click()
    box.press_sequentially("plateau")
    found = page.locator(".md-search-result__link")
    found.first.wait_for(timeout=60_000)
    assert any("glossary.html" in (link.get_attribute("href") or "") for link in found.all())
    page.close()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_page_can_be_read_by_everyone(site: Path, browser: Any) -> None:
    """The rules of axe on all pages, at one width; the page of a run has tests of its own."""
    pages = [page for page in sorted(site.rglob("*.html")) if page.parent.name != "live" and page.name != "404.html"]
    assert len(pages) > 30
    for page in pages:
        check(browser, page, "light")
