"""`index.html` of a reproduction's folder: every verdict in it, the figures drawn beside them, the theory statements.

The page says what the folder holds at one scale, that of the figures last drawn, so verdicts of an earlier command stay
on it as they stay in `verdicts.json`.
Claims and figures are different entries of the manifest; a claim opens the figures that show the runs it was judged on.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.core.errors import ConfigError, HeadwiseError
from headwise.paper.claims.exact import checked
from headwise.paper.entry import Claim, Evidence, Figure
from headwise.paper.manifest import ENTRIES
from headwise.paper.plan import Plan
from headwise.paper.reproduce import read_verdicts
from headwise.paper.scale import Scale
from headwise.store.manifest import library_versions, source_commit
from headwise.theory.registry import to_json
from headwise.view.report import write_reproduction_page

if TYPE_CHECKING:
    from headwise.view.panels import Sheet

PAGE = "index.html"
STATEMENTS = "statements.json"


def write_verdicts_page(into: Path, *, scale: Scale, command: str, runs: Path) -> Path:
    """Write the page of a folder with `verdicts.json`; `runs` is where the trajectories lie that were judged."""
    found = [item for item in read_verdicts(into / "verdicts.json") if item["scale"] == scale]
    path = into / PAGE
    write_reproduction_page(
        path,
        [_with_place(item) for item in found],
        {f"{claim}/{preset}": drawn for (claim, preset), drawn in _illustrated(found, into).items()},
        statements=read_statements(into),
        provenance=_provenance(found, runs),
        command=command,
    )
    return path


def write_statements(statements: Sequence[Mapping[str, Any]], into: Path) -> Path:
    """Keep what the theory's statements came to beside the verdicts."""
    path = into / STATEMENTS
    try:
        into.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(list(statements), indent=2, allow_nan=False, ensure_ascii=False) + "\n")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}; choose another --into") from None
    return path


def read_statements(into: Path) -> list[dict[str, Any]]:
    """The statements of a folder; nothing where they were not checked."""
    path = into / STATEMENTS
    if not path.exists():
        return []
    try:
        found = json.loads(path.read_text())
    except ValueError as error:
        raise HeadwiseError(f"{path} is not a list of statements ({error}); move it away") from None
    return [item for item in found if isinstance(item, dict)]


def statements_of(plan: Plan) -> list[dict[str, Any]]:
    """What the plan's claim on the theorems found, statement by statement; nothing where it is not in the plan."""
    for entry, preset in plan.pairs():
        if entry.name == "theorems":
            found: list[dict[str, Any]] = to_json(checked(plan.scale, plan.seeds_of(entry, preset)[0]))["statements"]
            return found
    return []


def illustrations(plan: Plan) -> list[Figure]:
    """Losses of the runs behind each claim of the plan that no figure of the manifest shows."""
    return [
        Figure(
            f"runs-{claim.name}",
            claim.label,
            f"excess loss of the runs behind {claim.name}",
            claim.experiments,
            claim.presets,
            compose=_losses,
        )
        for claim in plan.entries
        if isinstance(claim, Claim) and claim.experiments and not figures_of(claim)
    ]


def _losses(evidence: Evidence) -> Sheet:
    from headwise.view.learning import excess_panel
    from headwise.view.panels import Sheet

    return Sheet(((excess_panel(evidence.runs, title="Excess loss"),),))


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


def _illustrated(found: Sequence[Mapping[str, Any]], into: Path) -> dict[tuple[str, str], list[Path]]:
    """Figures that are in the folder, by claim and reading."""
    drawn = {}
    for item in found:
        claim = ENTRIES.get(item["claim"])
        if isinstance(claim, Claim):
            names = [figure.name for figure in figures_of(claim)] or [f"runs-{claim.name}"]
            paths = [into / f"{name}-{item['preset']}.png" for name in names]
            drawn[item["claim"], item["preset"]] = [path for path in paths if path.exists()]
    return drawn


def _with_place(item: Mapping[str, Any]) -> dict[str, Any]:
    """A verdict, with what the claim says and where the paper says it."""
    claim = ENTRIES.get(item["claim"])
    return {**item, "says": claim.about, "in the paper": claim.label} if claim else dict(item)


def _provenance(found: Sequence[Mapping[str, Any]], runs: Path) -> dict[str, str]:
    seeds = sorted({int(seed) for item in found for seed in item.get("seeds", ())})
    about = {
        "scale": ", ".join(sorted({str(item["scale"]) for item in found})),
        "seeds": ", ".join(map(str, seeds)),
        "runs": str(runs),
        "judged with commit": source_commit() or "unknown",
        "page written": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
    }
    return about | library_versions()
