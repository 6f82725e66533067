"""Which study of a page is a branch of which other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwise.core.trajectory import attribute
from headwise.view.report.members import Member
from headwise.view.report.studies import Study


def branch_of(study: Study, studies: Sequence[Study]) -> dict[str, Any] | None:
    """When and how a study left its run, and the place of that run among the studies; `None` for runs of their own.

    A branch names its run by digest. A trajectory without a run directory has none; then the first study of the page
    that is no branch is taken for the run.
    """
    about = _about(study.members[0])
    if about is None:
        return None
    named = {one["parent"] for member in study.members if (one := _about(member)) is not None}
    places = [place for place, other in enumerate(studies) if any(member.digest in named for member in other.members)]
    if not places:
        unnamed = [place for place, other in enumerate(studies) if _about(other.members[0]) is None]
        places = [place for place in unnamed[:1] if all(member.digest is None for member in studies[place].members)]
    return {"step": about["step"], "actions": list(about["actions"]), "parent": places[0] if places else None}


def _about(member: Member) -> dict[str, Any] | None:
    found = attribute(member.trajectory, "branch")
    return found if isinstance(found, dict) else None
