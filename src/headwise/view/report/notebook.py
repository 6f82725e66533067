"""The whole page inside a notebook: a frame that holds the page itself, so no server, no file and no network.

The frame is sandboxed: scripts of the page run in an origin of their own, and reach neither the notebook nor its
storage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from headwise.core.errors import ConfigError
from headwise.core.named_options import named_options
from headwise.view.report.members import Shown
from headwise.view.report.page import command_line, gathered
from headwise.view.report.pages import runs_page

LEAST_HEIGHT, MOST_HEIGHT = 200, 10_000


@dataclass(frozen=True)
class NotebookPage:
    """A page for the output of a cell; `html` is the page as text, the same as in a file."""

    html: str = field(repr=False)
    height: int

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html, quote=True)}" title="headwise page" width="100%" '
            f'height="{self.height}" style="border:0" sandbox="allow-scripts allow-downloads"></iframe>'
        )


@named_options
def notebook_page(runs: Shown | Sequence[Shown], *, title: str | None = None, height: int = 900) -> NotebookPage:
    """The interactive page for a notebook: put it at the end of a cell. `runs` is what `page` takes.

    >>> from headwise import FlowConfig, notebook_page, simulate
    >>> shown = notebook_page(simulate(FlowConfig(T=5, t_end=30.0, points=20)))
    >>> shown, shown._repr_html_()[:15]
    (NotebookPage(height=900), '<iframe srcdoc=')
    """
    if not isinstance(height, int | float) or not LEAST_HEIGHT <= height <= MOST_HEIGHT:
        raise ConfigError(f"height = {height!r} is not between {LEAST_HEIGHT} and {MOST_HEIGHT} pixels")
    members, paths = gathered(runs)
    known = command_line(paths, None, title) if len(paths) == len(members) else None
    return NotebookPage(runs_page(members, title=title, command=known, embedded=True), height)
