"""The site builds without a warning and without the network, and holds nothing from outside."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
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
    "explanation/paper.html",
)
LOOKS = {"light": ("light", 1440, 900), "dark": ("dark", 1440, 900), "phone": ("light", 390, 844)}


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
def test_it_can_be_looked_at(site: Path) -> None:
    """In a browser, light, dark and on a phone: axe finds nothing, nothing is fetched, nothing sticks out."""
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright
    from tests.browser.chromium_here import FLAGS, find_chromium

    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no chromium on the path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for scheme, width, height in LOOKS.values():
            settings: dict[str, Any] = {"color_scheme": scheme, "viewport": {"width": width, "height": height}}
            context = browser.new_context(**settings)
            for name in SHOWN:
                page = context.new_page()
                fetched: list[str] = []
                page.on("request", lambda request, fetched=fetched: fetched.append(request.url))
                page.goto((site / name).as_uri())
                page.wait_for_timeout(300)
                assert [url for url in fetched if url.startswith("http")] == []
                assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
                assert Axe().run(page).response["violations"] == [], (name, scheme, width)
                page.close()
            context.close()
        browser.close()
