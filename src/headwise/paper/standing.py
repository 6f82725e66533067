"""What stored results have decided already, so that nobody has to compute it again.

A verdict stands while its claim's test is the one that judged it and the settings of its runs are those that the
reading has now, on every seed that is asked for and on all runs of them; a figure while it is there and shows these
seeds and settings. Neither needs its runs any more, so that results of several machines add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headwise.paper.dated_tests import dated_test, fixed_before
from headwise.paper.draw import Drawn, read_figures
from headwise.paper.entry import Claim, Figure
from headwise.paper.plan import Pair, Plan
from headwise.paper.scale import Scale
from headwise.paper.settings import KEY, settings_of
from headwise.paper.sketches import Kept, read_sketches
from headwise.paper.verdict import Verdict
from headwise.paper.verdict_file import NAME, OUTCOMES, read_verdicts


@dataclass(frozen=True)
class Standing:
    """The entries of a plan that are decided or drawn, each with the folder that has it."""

    folders: dict[Pair, Path]
    verdicts: dict[Pair, Verdict]

    def only(self, pairs: Sequence[Pair]) -> Standing:
        """What stands of these entries."""
        return Standing(
            {pair: folder for pair, folder in self.folders.items() if pair in pairs},
            {pair: verdict for pair, verdict in self.verdicts.items() if pair in pairs},
        )


def standing(plan: Plan, folders: Sequence[Path]) -> Standing:
    """What of a plan stands in these folders; of several that have an entry the first one counts."""
    found = Standing({}, {})
    for folder in dict.fromkeys(folders):
        verdicts = {(one.claim, one.preset): one for one in read_verdicts(folder / NAME) if one.scale == plan.scale}
        shown = {(one.name, one.preset): one for one in read_figures(folder) if one.scale == plan.scale}
        for entry, preset in plan.pairs():
            pair = (entry.name, preset)
            if pair in found.folders:
                continue
            seeds, settings = plan.seeds_of(entry, preset), settings_of(entry, preset, plan.scale)
            if isinstance(entry, Figure):
                drawn = shown.get(pair)
                if drawn is not None and set(seeds) <= set(drawn.seeds) and drawn.settings == settings:
                    found.folders[pair] = folder
            elif (verdict := verdicts.get(pair)) is not None and stands(verdict, entry, seeds, settings=settings):
                found.folders[pair], found.verdicts[pair] = folder, verdict
    return found


def stands(verdict: Verdict, claim: Claim, seeds: Sequence[int], *, settings: str) -> bool:
    """Whether a stored verdict answers for a claim on these seeds, with runs of these settings (`settings_of`).

    One that is inconclusive answers where all its runs had ended: they would come out the same again.
    """
    runs = len(claim.experiments) * len(verdict.seeds)
    known = verdict.runs.get("count")
    complete = (known is None and verdict.outcome != "inconclusive") or known == runs or runs == 0
    return (
        complete
        and verdict.runs.get(KEY, "") == settings
        and set(seeds) <= set(verdict.seeds)
        and verdict.test.get("digest") == dated_test(claim)["digest"]
        and fixed_before(verdict.test, verdict.runs) is not False
    )


@dataclass(frozen=True)
class Elsewhere:
    """What a page shows besides its own folder's: verdicts that stand in other folders, with what illustrates them."""

    verdicts: tuple[Verdict, ...] = ()
    figures: tuple[Drawn, ...] = ()
    sketches: tuple[Kept, ...] = ()


def elsewhere(found: Standing, into: Path, scale: Scale) -> Elsewhere:
    """The verdicts that stand in other folders than `into`, and all pictures of these folders under their readings."""
    others = {pair: folder for pair, folder in found.folders.items() if folder.resolve() != into.resolve()}
    figures: list[Drawn] = []
    sketches: list[Kept] = []
    for folder in dict.fromkeys(others.values()):
        figures += [one for one in read_figures(folder) if one.scale == scale]
        sketches += [one for one in read_sketches(folder) if one.scale == scale and (one.claim, one.preset) in others]
    verdicts = (verdict for pair, verdict in found.verdicts.items() if pair in others)
    return Elsewhere(tuple(verdicts), tuple(figures), tuple(sketches))


def without(plan: Plan, left_out: Standing) -> Plan:
    """The rest of a plan, once what stands is left out."""
    return replace(plan, left_out=frozenset(left_out.folders))


def describe_standing(found: Standing, left: int) -> list[str]:
    """Lines that say how much stands and where; nothing where nothing does."""
    if not found.folders:
        return []
    claims, drawn = len(found.verdicts), len(found.folders) - len(found.verdicts)
    where = ", ".join(str(folder) for folder in dict.fromkeys(found.folders.values()))
    outcomes = Counter(verdict.outcome for verdict in found.verdicts.values())
    parts = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in OUTCOMES if outcomes[outcome])
    lines = [
        f"{len(found.folders)} of {len(found.folders) + left} entries stand in {where}: "
        f"{claims} claim{'s' if claims != 1 else ''} judged by the present tests on these seeds"
        f"{f' ({parts})' if parts else ''}, {drawn} figure{'s' if drawn != 1 else ''} and tables drawn"
    ]
    return lines if left else [*lines, "nothing is missing"]
