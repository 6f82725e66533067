"""Which command makes which figure, table and claim of the paper, with what it costs."""

from __future__ import annotations

from headwise.core.markdown import markdown_table
from headwise.paper.entry import Claim, Figure
from headwise.paper.manifest import ENTRIES, HEADLINE
from headwise.paper.places import place
from headwise.paper.plan import cost
from headwise.study.cost import readable

HEADER = """# Which figure, which command

This page is made from the manifest of the paper when the site is built. A command trains what is missing, draws, judges
and writes into `reproduction/`; the same command again only reads. `--scale paper` takes the paper's sizes, `--preset`
another [reading](../readings.md). `--dry-run` says what the results stored in `results` decide already and which runs
the rest waits for; `--undecided` computes only that. Costs are estimates for one seed on one core; by default most
commands run three seeds. With no name the headline set is made, marked with *. [Figures panel by panel](../figures.md)
says what each shows and what differs.
"""


def render() -> str:
    """The page as Markdown."""
    figures = [entry for entry in ENTRIES.values() if isinstance(entry, Figure)]
    claims = [entry for entry in ENTRIES.values() if isinstance(entry, Claim)]
    return "\n".join([HEADER, "## Figures and tables\n", _table(figures), "\n## Claims\n", _table(claims)]) + "\n"


def _table(entries: list[Figure] | list[Claim]) -> str:
    rows = [
        (
            place(entry.label),
            f"`headwise reproduce {entry.name}`{' *' if entry.name in HEADLINE else ''}",
            entry.about,
            readable(cost(entry, "quick")),
            readable(cost(entry, "paper")),
        )
        for entry in entries
    ]
    return markdown_table(("in the paper", "command", "what it is", "quick", "paper's size"), rows)
