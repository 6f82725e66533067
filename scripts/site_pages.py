"""MkDocs hooks: pages of the site that are not files of docs/, and links that lead from the repository into the site.

Reference pages are made from the parser, the schemas and the docstrings whenever the site is built, so they cannot be
out of date. Files of the repository that are pages of the site too keep their place. The page of a real run is made
from the run that the browser tests use.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
RUN = ROOT / "tests" / "browser" / "data" / "minimal" / "0ea5daec-s0"

FROM_REPOSITORY = {
    "CONTRIBUTING.md": "contributing.md",
    "ARCHITECTURE.md": "architecture.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "index.md",
    "results/paper/README.md": "results/paper.md",
    "results/draws/README.md": "results/draws.md",
    "results/phase-diagram/README.md": "results/phase-diagram.md",
}
"""Files of the repository and the pages they are; of the README only links lead to its page, which has its own text."""

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made, and the pictures that they show."""
    from headwise.cli.commands_page import render as commands
    from headwise.cli.config_page import render as config_keys
    from headwise.cli.names_page import render as names
    from headwise.paper.figures_page import render as figures

    made = {
        "reference/commands.md": commands(),
        "reference/config.md": config_keys(),
        "reference/names.md": names(),
        "reference/paper.md": figures(),
        "how-to/extend.md": recipes(),
        "live/run.html": run_page(),
    }
    for source, page in FROM_REPOSITORY.items():
        if page != "index.md":
            made[page] = (ROOT / source).read_text(encoding="utf-8")
    made["contributing.md"] = without_recipes(made["contributing.md"])
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    for source in FROM_REPOSITORY:
        folder = (ROOT / source).parent
        if folder != ROOT:
            for picture in sorted(folder.glob("*.png")):
                place = f"results/{folder.name}/{picture.name}"
                files.append(File.generated(config, place, abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links between files of the repository become links between pages; those to other files become their names."""
    here = page.file.src_uri
    source = next((name for name, target in FROM_REPOSITORY.items() if target == here != "index.md"), f"docs/{here}")
    parts, last = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [_relink(markdown[last : fence.start()], source, here, files), fence[0]]
        last = fence.end()
    return "".join([*parts, _relink(markdown[last:], source, here, files)])


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """The corner of a table with row names is no heading, and a bar in the code of a cell has no backslash before it.

    Tables need the backslash on a code host; this Markdown takes it away from words, but leaves it in code.
    """
    html = re.sub(r"<th( [^>]*)?></th>", r"<td\1></td>", html)
    return re.sub(r"<td(?: [^>]*)?>.*?</td>", lambda cell: _bars_as_they_are(cell[0]), html, flags=re.DOTALL)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """The theme's search is a dialog without a name."""
    return output.replace('<div class="md-search"', '<div class="md-search" aria-label="Search"')


def _bars_as_they_are(cell: str) -> str:
    return re.sub(r"<code>[^<]*</code>", lambda code: code[0].replace("\\|", "|"), cell)


def _relink(text: str, source: str, here: str, files: Files) -> str:
    def changed(match: re.Match[str]) -> str:
        mark, words, link, anchor = match[1], match[2], match[3], match[4] or ""
        if "://" in link or link.startswith("mailto:"):
            return match[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
        if (ROOT / target).is_file():
            page = _place(target)
            if page is None or files.get_file_from_path(page) is None:
                return f"`{target}`" if words in (target, link) or not words else f"{words} (`{target}`)"
            link = posixpath.relpath(page, posixpath.dirname(here) or ".")
        return f"{mark}[{words}]({link}{anchor})"

    return LINK.sub(changed, text)


def _place(target: str) -> str | None:
    """Where a file of the repository is in the site."""
    if target in FROM_REPOSITORY:
        return FROM_REPOSITORY[target]
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    return target if target.startswith("results/") and target.endswith(".png") else None


def recipes() -> str:
    """The recipes of CONTRIBUTING.md as a page of their own."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    head = (
        "# Add a role, an adapter, a claim, a variable\n\n"
        "Each recipe is complete: the tests carry it out, to the letter, in a copy of the package. Files are named "
        "from the root of the repository.\n\n"
    )
    return head + "".join(part for part in parts if part.startswith("## Add "))


def without_recipes(text: str) -> str:
    """CONTRIBUTING.md with a link in the place of its recipes."""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    kept = "".join(part for part in parts if not part.startswith("## Add "))
    return kept.replace("The recipes below are complete", "The [recipes](how-to/extend.md) are complete")


def run_page() -> str:
    """The interactive page of a stored run, to be looked at within the site."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from headwise.view.report import runs_page
    from headwise.view.report.members import read_member

    return runs_page([read_member(RUN)], embedded=True)
