"""A real chromium for the page's tests; where there is none, they are skipped and say so.

Only the browser is looked for: playwright itself comes with the test requirements.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from chromium_here import FLAGS, NAMES, find_chromium
from playwright.sync_api import Browser, Page, sync_playwright


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
        self.until("window.headwise.settled()")

    def until(self, condition: str, *, seconds: float = 30) -> None:
        """Wait for an expression to be true; playwright's own waiting needs `eval`, which the page forbids."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"not within {seconds} seconds: {condition}"
            self.page.wait_for_timeout(30)

    def until_ready(self) -> None:
        self.until("Boolean(window.headwise && window.headwise.ready)")
        if self.page.locator("#slider").count():
            self.settle()


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

    def open_it(
        path: Path, *, width: int = 1440, height: int = 900, scheme: str = "light", motion: str = "no-preference"
    ) -> Watched:
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
        watched.until_ready()
        return watched

    yield open_it
    for context in contexts:
        context.close()
