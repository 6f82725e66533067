"""From finished runs to a folder of verdicts and figures with its page; nothing here trains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headwise.paper.draw import Drawn, add_figures, draw_all
from headwise.paper.judge import judge_all
from headwise.paper.plan import Plan
from headwise.paper.sketches import add_sketches, sketch_all
from headwise.paper.standing import Elsewhere
from headwise.paper.statement_file import keep_statements
from headwise.paper.verdict import Verdict
from headwise.paper.verdict_file import NAME, add_verdicts
from headwise.paper.verdicts_page import illustrations, write_verdicts_page
from headwise.study.config import RunConfig

NOTHING = Elsewhere()


@dataclass(frozen=True)
class Results:
    """The verdicts of a plan, what was drawn for it, and the two files of the folder that show them."""

    verdicts: list[Verdict]
    drawn: list[Drawn]
    file: Path
    page: Path


def write_results(
    plan: Plan,
    into: Path,
    *,
    command: str,
    missing: Sequence[RunConfig] = (),
    besides: Elsewhere = NOTHING,
    notify: Callable[[str], None] = lambda line: None,
) -> Results:
    """Judge and draw what a plan asks for; `command` is shown on the page as the way to make it again.

    A claim that waits for one of the `missing` runs is judged too, but a verdict on it that the folder already has
    stays there: what has not run says nothing against it. So do its sketch and figures of more seeds. The page shows
    also what stands `besides`, in other folders; their files stay as they are.
    """
    verdicts = judge_all(plan, notify)
    pictured = replace(plan, entries=(*plan.entries, *illustrations(plan)))
    undecided = pictured.incomplete(missing)
    drawn = draw_all(pictured, into, notify, waiting=frozenset(undecided))
    decided = [verdict for verdict in verdicts if (verdict.claim, verdict.preset) not in undecided]
    sketches = [sketch for sketch in sketch_all(plan) if (sketch.claim, sketch.preset) not in undecided]
    # What the folder itself has comes last, so that it is shown where both have something.
    page = write_verdicts_page(
        into,
        verdicts=_latest([*besides.verdicts, *(v for v in add_verdicts(decided, into) if v.scale == plan.scale)]),
        figures=[*besides.figures, *(figure for figure in add_figures(drawn, into) if figure.scale == plan.scale)],
        statements=keep_statements(plan, into),
        sketches=[*besides.sketches, *(kept for kept in add_sketches(sketches, into) if kept.scale == plan.scale)],
        command=command,
        runs=plan.out,
    )
    return Results(verdicts, drawn, into / NAME, page)


def _latest(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """One verdict for each claim and reading: the last one given."""
    return list({(verdict.claim, verdict.preset): verdict for verdict in verdicts}.values())
