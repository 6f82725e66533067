"""A real chromium for the page's tests; where there is none, they are skipped and say so.

Only the browser is looked for: playwright itself comes with the test requirements.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium() -> str | None:
    """The first chromium on the path."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass
class Watched:
    """A page, and everything it did that a self-contained page must not do."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def state(self) -> float:
        return float(self.page.evaluate("window.headwise.time()"))

    def settle(self) -> None:
        """Wait until what was asked for has been drawn."""
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.page.wait_for_function("window.headwise.settled()")


Open = Callable[..., Watched]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = find_chromium()
    if chromium is None:
        pytest.skip(f"browser tests skipped: none of {', '.join(NAMES)} is on the path")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Open a file as a reader would, from disk, watching the console and the network."""
    contexts = []

    def open_it(path: Path, *, width: int = 1440, height: int = 900, scheme: str = "light", motion: str = "no-preference") -> Watched:
        settings: dict[str, Any] = {"color_scheme": scheme, "reduced_motion": motion, "accept_downloads": True}
        context = browser.new_context(viewport={"width": width, "height": height}, **settings)
        contexts.append(context)
        page = context.new_page()
        watched = Watched(page)
        page.on("console", lambda message: watched.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (watched.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: watched.requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_function("window.headwise && window.headwise.ready")
        if page.locator("#slider").count():
            watched.settle()
        return watched

    yield open_it
    for context in contexts:
        context.close()
