"""Why an ablated head is replaced sooner in one trial than in another: what the other heads have of its group by then.

    python scripts/explain_kept.py --scale paper --runs RUNS --into results/causal/paper/kept.md

RUNS is the folder of runs of `headwise reproduce kept --set causal --scale paper --out RUNS`; what is missing there is
trained. These numbers were first looked at after trials of the claim had been judged, and judge nothing.

Of each trial: the largest share of attention that another head has on group 2 when the head of group 2 is ablated, how
long it then takes until a head has more than half there, and how long it had taken at first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from causal_trials import explain_trials

from headwise.paper.causal.cooperation import ABLATED_AFTER
from headwise.paper.causal.readings import first_taking, on_grid, once_measured, once_taken
from headwise.paper.causal.trial import Trial
from headwise.paper.scale import Scale


class Row(NamedTuple):
    """One trial."""

    trial: int
    ablated: int
    at: int
    next_head: int
    share: float
    taker: int
    again: int
    """Steps until another head has more than half of its attention on group 2."""
    first: int
    """Steps between groups 1 and 2 in the run."""
    sham: int | None
    """The step at which another head does so by itself, with nothing ablated."""


def explain(trial: Trial) -> Row:
    """One trial, from the runs that the claim was judged by."""
    run, parent = trial.parent(heads=4, enough=lambda trajectory: first_taking(trajectory, 2) is not None)
    learned, left = first_taking(parent, 1), first_taking(parent, 2)
    assert learned is not None
    assert left is not None
    at, others = on_grid(left.step + ABLATED_AFTER), [left.head]
    run, parent = trial.parent(heads=4, enough=once_measured(at))
    shares = parent["attention_by_group"].isel(block=0, group=1).sel(step=at).values.copy()
    shares[left.head - 1] = -np.inf
    another = once_taken(2, after=at, but=others)
    gone = trial.branch(run, at, do=[f"ablate:heads={left.head}"], steps=at + 1000, enough=another).trajectory
    found = first_taking(gone, 2, after=at, but=others)
    assert found is not None
    sham = first_taking(trial.sham(run, at, steps=at + 1000).trajectory, 2, after=at, but=others)
    return Row(
        100 * trial.draw + trial.seed,
        left.head,
        at,
        int(shares.argmax()) + 1,
        float(shares.max()),
        found.head,
        found.step - at,
        left.step - learned.step,
        None if sham is None else sham.step,
    )


def page(rows: list[Row], scale: Scale) -> str:
    """The table, and how far share and time go together."""
    lines = [
        f"# What is kept when the head of group 2 is ablated, {scale} scale",
        "",
        f"Made by `python scripts/explain_kept.py --scale {scale}`, after trials had been judged; nothing is judged "
        "here.",
        "",
        "| trial | ablated | next head, its share of group 2 | another takes it up after | first took | by itself |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.trial} | head {row.ablated} at {row.at} | head {row.next_head}, {row.share:.2f} | "
        f"{row.again} steps, head {row.taker} | {row.first} steps | {'none' if row.sham is None else row.sham} |"
        for row in rows
    ]
    if len(rows) > 2:
        found = np.corrcoef(np.log([row.share for row in rows]), [row.again for row in rows])[0, 1]
        lines += ["", f"Correlation of the logarithm of that share with the time: {found:.2f}."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    assert __doc__ is not None
    explain_trials(__doc__, explain, page)
