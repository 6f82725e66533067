"""`index.html` of a reproduction's folder: verdicts, the figures drawn beside them, the theory's statements.

Claims and figures are different entries of the manifest; a claim opens the figures that show the runs it was judged on.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.paper.draw import Drawn
from headwise.paper.entry import Claim, Evidence, Figure
from headwise.paper.manifest import ENTRIES
from headwise.paper.places import place
from headwise.paper.plan import Plan
from headwise.paper.sketches import Kept
from headwise.paper.verdict import Outcome, Verdict
from headwise.paper.verdict_file import to_item
from headwise.paper.verdicts import unit_of
from headwise.store.manifest import library_versions, source_commit
from headwise.theory.statement import Verdict as StatementVerdict
from headwise.view.report import Mood, ShownStatement, ShownVerdict, Sketch, write_reproduction_page

if TYPE_CHECKING:
    from headwise.view.panels import Sheet

PAGE = "index.html"

MOODS: dict[Outcome, Mood] = {
    "reproduced": "good",
    "partly reproduced": "mixed",
    "not reproduced": "bad",
    "inconclusive": "mixed",
}
STATEMENT_MOODS: dict[StatementVerdict, Mood] = {
    "holds": "good",
    "approximate": "mixed",
    "depends": "mixed",
    "not printed": "mixed",
    "fails": "bad",
}


def write_verdicts_page(
    into: Path,
    *,
    verdicts: Sequence[Verdict],
    figures: Sequence[Drawn],
    statements: Sequence[Mapping[str, Any]],
    sketches: Sequence[Kept] = (),
    command: str,
    runs: Path,
) -> Path:
    """Write the page; `runs` is where the trajectories lie that were judged."""
    path = into / PAGE
    drawn = {(kept.claim, kept.preset): kept.sketch for kept in sketches}
    write_reproduction_page(
        path,
        [shown_verdict(one, figures, drawn.get((one.claim, one.preset))) for one in verdicts],
        statements=[shown_statement(statement) for statement in statements],
        provenance=_provenance(verdicts, runs),
        command=command,
    )
    return path


def shown_verdict(verdict: Verdict, figures: Sequence[Drawn], sketch: Sketch | None = None) -> ShownVerdict:
    """A verdict with its colour, what the claim says, where the paper says it, its curves and its figures."""
    claim = ENTRIES.get(verdict.claim)
    values = to_item(verdict)
    if not isinstance(claim, Claim):
        return ShownVerdict(values, MOODS[verdict.outcome])
    names = [figure.name for figure in figures_of(claim)] or [illustration(claim).name]
    pictures = {figure.name: figure.picture for figure in figures if figure.preset == verdict.preset}
    return ShownVerdict(
        {**values, "says": claim.about, "in the paper": place(claim.label), "unit": unit_of(verdict)},
        MOODS[verdict.outcome],
        [pictures[name] for name in names if name in pictures],
        sketch,
    )


def shown_statement(statement: Mapping[str, Any]) -> ShownStatement:
    """A statement with its colours, as printed and as corrected."""
    return ShownStatement(
        statement,
        printed=STATEMENT_MOODS[statement["printed"]["verdict"]],
        corrected=STATEMENT_MOODS[statement["corrected"]["verdict"]],
    )


def illustrations(plan: Plan) -> list[Figure]:
    """Losses of the runs behind each claim of the plan that no figure of the manifest shows."""
    claims = dict.fromkeys(entry for entry, _ in plan.pairs() if isinstance(entry, Claim))
    return [illustration(claim) for claim in claims if claim.experiments and not figures_of(claim)]


def illustration(claim: Claim) -> Figure:
    """Losses of the runs behind a claim."""
    return Figure(
        f"runs-{claim.name}",
        claim.label,
        f"excess loss of the runs behind {claim.name}",
        claim.experiments,
        claim.presets,
        compose=_losses,
    )


def _losses(evidence: Evidence) -> Sheet:
    from headwise.view.sheets.losses import losses_sheet

    return losses_sheet({"Excess loss": evidence.runs})


def figures_of(claim: Claim) -> list[Figure]:
    """The manifest's figures and tables that show a claim's runs.

    Those made from exactly its experiments and those that the paper itself names beside it; where there are none, the
    ones with fewest experiments among those that include its own.
    """
    own = set(claim.experiments)
    figures = [entry for entry in ENTRIES.values() if isinstance(entry, Figure)]
    near = [f for f in figures if (own and own == set(f.experiments)) or (_named(claim) & _named(f) and _shows(f, own))]
    wider = [figure for figure in figures if own and _shows(figure, own)]
    fewest = min((len(figure.experiments) for figure in wider), default=0)
    return near or [figure for figure in wider if len(figure.experiments) == fewest]


def _shows(figure: Figure, experiments: set[str]) -> bool:
    return experiments <= set(figure.experiments)


def _named(entry: Claim | Figure) -> set[str]:
    """The labels of the paper's figures that an entry is about."""
    return {word for word in entry.label.replace(",", " ").split() if word.startswith("fig:")}


def _provenance(verdicts: Sequence[Verdict], runs: Path) -> dict[str, str]:
    seeds = sorted({seed for verdict in verdicts for seed in verdict.seeds})
    about = {
        "scale": ", ".join(sorted({verdict.scale for verdict in verdicts})),
        "seeds": ", ".join(map(str, seeds)),
        "runs": str(runs),
        "judged with commit": source_commit() or "unknown",
        "page written": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
    }
    return about | library_versions()
