"""What the detector finds in the runs of one study, and in which order the page shows their heads.

Which head does what differs by chance from seed to seed, so every seed's heads are put into the order of the reference
seed: `roles[seed][block][k]` is the head (from 0) that plays the reference's head k there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwise.core.errors import HeadwiseError
from headwise.phases.detection import detect
from headwise.phases.roles import Roles, own_order, roles_in
from headwise.phases.run_report import RunReport
from headwise.phases.seeds_report import SeedsReport, summarise_seeds
from headwise.phases.sentences import event_sentences

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class StudyPhases:
    """The report of each run, of all seeds together where there are several, the heads' roles, and notes to read.

    `reports` has None for every run where the runs hold nothing that the detector can read.
    """

    reports: tuple[RunReport | None, ...]
    together: SeedsReport | None
    roles: tuple[Roles, ...]
    notes: tuple[str, ...]

    @property
    def reference(self) -> int:
        """The run whose heads give the order."""
        return self.together.reference if self.together else 0


def find_phases(trajectories: Sequence[xr.Dataset], seeds: Sequence[int | str]) -> StudyPhases:
    """Detect the phases of one run, or of several seeds with their heads matched."""
    own = tuple(own_order(trajectory) for trajectory in trajectories)
    if not all(trajectory.sizes.get("step", 0) for trajectory in trajectories):
        return StudyPhases((None,) * len(own), None, own, ("phases: nothing was measured over time",))
    try:
        reports = [detect(trajectory) for trajectory in trajectories]
    except HeadwiseError as error:
        return StudyPhases((None,) * len(own), None, own, (f"phases: {error}",))
    if len(reports) == 1:
        return StudyPhases(tuple(reports), None, own, tuple(_notes(reports[0])))
    together = summarise_seeds(reports, list(seeds))
    roles = tuple(roles_in(together, trajectories))
    return StudyPhases(tuple(reports), together, roles, tuple(_notes_of_seeds(together)))


def _notes(report: RunReport) -> list[str]:
    return list(dict.fromkeys((*event_sentences(report), *report.agreement.notes, *report.notes)))


def _notes_of_seeds(report: SeedsReport) -> list[str]:
    """Who does otherwise than most, then the notes that all seeds share, then those of single seeds."""
    each = [_notes(run) for run in report.runs]
    shared = [note for note in each[0] if all(note in own for own in each)]
    notes = [*(f"seed {name}: {how}" for name, how in report.disagreements), *shared]
    for name, own in zip(report.names, each, strict=True):
        notes += [f"seed {name}: {note}" for note in own if note not in shared]
    return notes
