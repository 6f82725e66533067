"""What a page shows of somebody's own model: lags that matter, the noise of its loss, a sentence that is true."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from headwise.core.head_counts import counted_heads, head_counts
from headwise.phases.chance import chance_of_lags, excess_share
from headwise.phases.heads_now import role_text
from headwise.phases.role_names import NOT_EVENTS, head_name

if TYPE_CHECKING:
    import xarray as xr

    from headwise.phases.acquired_roles import RoleEvent
    from headwise.phases.run_report import RunReport

WORTH_A_ROW = 0.1
"""Share above chance that a lag must reach once, in any head, for the page to draw it."""
LEAST_LAGS = 8
STANDARD_ERRORS = 2.0
"""Half the height of the band around a loss."""
HEADS_NAMED, ROLES_NAMED = 3, 4


def lags_that_matter(trajectory: xr.Dataset) -> xr.Dataset:
    """The trajectory without the far lags that no head ever looks at; a model of 144 heads would not fit otherwise."""
    if "attention_by_lag" not in trajectory or not trajectory.sizes.get("step"):
        return trajectory
    shares = trajectory["attention_by_lag"].transpose("step", "block", "head", "lag").values
    excess = excess_share(shares, chance_of_lags(trajectory)[:, :, None, :])
    lags = trajectory["lag"].values
    wanted = lags[(np.nan_to_num(excess) >= WORTH_A_ROW).any(axis=(0, 1, 2))]
    reach = max(LEAST_LAGS, int(np.abs(wanted).max(initial=0)) + 1)
    return trajectory.isel(lag=np.flatnonzero((lags <= reach) & (lags >= 2 - reach)))


def roles_by_height(trajectories: Iterable[xr.Dataset]) -> list[str]:
    """Every role that was scored, the one first in which a head goes furthest."""
    heights: dict[str, float] = {}
    for trajectory in trajectories:
        if "role_score" not in trajectory:
            continue
        for role in trajectory["role"].values:
            scores = trajectory["role_score"].sel(role=role).values
            own = float(np.max(scores[np.isfinite(scores)], initial=-1.0))
            heights[str(role)] = max(own, heights.get(str(role), -1.0))
    return sorted(heights, key=lambda role: (role in NOT_EVENTS, -heights[role]))


def noise_band(trajectory: xr.Dataset) -> tuple[np.ndarray, np.ndarray] | None:
    """Each loss less and plus two standard errors of its mean, (step, split); NaN where its spread is not known."""
    if not {"loss", "loss_spread", "loss_count"} <= set(map(str, trajectory.data_vars)):
        return None
    loss, spread, count = (trajectory[name].values for name in ("loss", "loss_spread", "loss_count"))
    with np.errstate(divide="ignore", invalid="ignore"):
        half = STANDARD_ERRORS * spread / np.sqrt(count)
    half = np.where(np.isfinite(half), half, np.nan)
    return loss - half, loss + half


def watched_sentence(report: RunReport | None, trajectory: xr.Dataset) -> str:
    """What was watched, and which heads took up which roles, as the report has them; no word beyond it."""
    steps = trajectory["step"].values
    size = counted_heads(head_counts(trajectory))
    if not len(steps):
        return f"{size}, no look"
    seen = f"{size}, {len(steps)} look{'s' * (len(steps) != 1)} up to step {steps[-1]:g}"
    if report is None or len(steps) < 2:
        return f"{seen}; one look shows no change" if len(steps) < 2 else seen
    if not report.roles:
        return f"{seen}; no head takes up a role that is beyond doubt"
    roles = sorted(report.roles, key=lambda event: event.role)
    kinds = sorted((list(own) for _, own in groupby(roles, key=lambda event: event.role)), key=_first)
    told = [_role_words(kind, report) for kind in kinds[:ROLES_NAMED]]
    more = len(kinds) - ROLES_NAMED
    return "; ".join([seen, *told, *([f"and {more} more role{'s' * (more > 1)}"] if more > 0 else [])])


def _first(events: list[RoleEvent]) -> tuple[float, str]:
    return min(event.start for event in events), events[0].role


def _role_words(events: list[RoleEvent], report: RunReport) -> str:
    """`induction: L1H0 from step 210, L1H3 from step 220 to 300`."""
    ordered = sorted(events, key=lambda event: (event.start, event.block, event.head))
    named = [_head_words(event, report) for event in ordered[:HEADS_NAMED]]
    others = {(e.block, e.head) for e in ordered} - {(e.block, e.head) for e in ordered[:HEADS_NAMED]}
    more = f" and {len(others)} more head{'s' * (len(others) > 1)}" if others else ""
    return f"{role_text(events[0].role)}: {', '.join(named)}{more}"


def _head_words(event: RoleEvent, report: RunReport) -> str:
    start = "from the first look" if event.start <= report.start else f"from step {event.start:.0f}"
    end = "" if event.end >= report.end else f" to {event.end:.0f}"
    return f"{head_name(event.block, event.head, several_blocks=True)} {start}{end}"
