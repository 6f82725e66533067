"""Why two causal claims fail in part: the lead of the head that leaves, and the first offshoot to one step.

    python scripts/explain_causal.py --scale paper --runs RUNS --into results/causal/paper/why.md

RUNS is the folder of runs of `headwise reproduce --set causal --scale paper --out RUNS`; what is missing there is
trained. These numbers were first looked at after the claims had been judged, and judge nothing.

- Lead: 50 steps before a head takes group 2 up, how far is its share of attention on group 2 ahead of the next head's
  (difference of logarithms), and how fast does it grow (over the 50 steps before that)? Lead over growth is how long
  the next head is behind. It is compared with how much later another head leaves when the first one is frozen there.
- Offshoot: the step at which the head has more than half of its attention on group 2, measured at every step: in the
  run, with the values of the other heads frozen from 50 steps before, and frozen from step 200 on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from causal_trials import explain_trials

from headwise.paper.causal.competition import BEFORE
from headwise.paper.causal.readings import TAKEN, excess_at, first_taking, on_grid, once_taken
from headwise.paper.causal.trial import Trial
from headwise.paper.scale import Scale
from headwise.study.branch import branch

EARLY = 200
"""On the first plateau, where norms are exchanged and heads tied."""

THROUGH = 50


class Row(NamedTuple):
    """One trial."""

    trial: int
    head: int
    left: int
    order: tuple[int, ...]
    instead: int
    lead: float
    growth: float
    later: int
    offshoots: tuple[int, ...]
    losses: tuple[float, ...]


def explain(trial: Trial) -> Row:
    """Both questions in one trial."""
    run, parent = trial.parent()
    left = first_taking(parent, 2)
    assert left is not None, "the claims were judged on runs in which a head leaves"
    at, until = on_grid(left.step - BEFORE), on_grid(left.step + THROUGH)
    steps = parent["step"].values
    shares = parent["attention_by_group"].isel(block=0, group=1).transpose("step", "head").values
    now, before = (np.log(shares[int(np.flatnonzero(steps == step)[0])]) for step in (at, at - BEFORE))
    order = tuple(int(head) + 1 for head in np.argsort(-now))
    others = [head for head in order if head != left.head]
    held = trial.branch(
        run, at, do=[f"freeze:heads={left.head}"], enough=once_taken(2, after=at, but=[left.head])
    ).trajectory
    instead = first_taking(held, 2, after=at, but=[left.head])
    assert instead is not None
    values = [f"freeze:heads={','.join(map(str, sorted(others)))}:part=values"]
    offshoots, losses = [], []
    for start, actions in ((at, []), (at, values), (EARLY, values)):
        finely = {"measure.at.every": 1}
        [found] = branch(run, start, do=actions, steps=until, changes=finely, progress="off").branches
        on_second = found.trajectory["attention_by_group"].isel(block=0, head=left.head - 1, group=1).values
        taken = np.flatnonzero((on_second > TAKEN) & (found.trajectory["step"].values > at))
        offshoots.append(int(found.trajectory["step"].values[taken[0]]) if len(taken) else -1)
        losses.append(excess_at(found.trajectory, until))
    return Row(
        100 * trial.draw + trial.seed,
        left.head,
        left.step,
        order,
        instead.head,
        float(now[left.head - 1] - now[others[0] - 1]),
        float(now[left.head - 1] - before[left.head - 1]) / BEFORE,
        instead.step - left.step,
        tuple(offshoots),
        tuple(losses),
    )


def page(rows: list[Row], scale: Scale) -> str:
    """Both tables."""
    lines = [
        f"# Why two causal claims fail in part, {scale} scale",
        "",
        f"Made by `python scripts/explain_causal.py --scale {scale}`, after the claims had been judged; nothing is "
        "judged here.",
        "",
        "## Who leaves: the lead of the head that leaves",
        "",
        f"{BEFORE} steps before a head takes group 2 up: all heads by their share of attention on group 2, the lead of "
        "the one that leaves over the next (difference of logarithms), how fast its share grows, and lead over growth. "
        "Beside it what happens when that head is frozen from there on.",
        "",
        "| trial | leaves | order then | lead | growth per step | lead / growth | instead | later by |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.trial} | head {row.head} at {row.left} | {', '.join(map(str, row.order))} | {row.lead:.2f} | "
        f"{row.growth:.4f} | {row.lead / row.growth:.0f} | head {row.instead} | {row.later} |"
        for row in rows
    ]
    expected, later = [row.lead / row.growth for row in rows], [float(row.later) for row in rows]
    if len(rows) > 2:
        lines += ["", f"Correlation of lead / growth with the delay: {np.corrcoef(expected, later)[0, 1]:.2f}."]
    lines += [
        "",
        "## Compensation: the first offshoot to one step",
        "",
        f"The step at which the head has more than half of its attention on group 2, and the excess loss {THROUGH} "
        f"steps after the offshoot: in the run, with the values of the other heads frozen from {BEFORE} steps before, "
        f"and frozen from step {EARLY} on.",
        "",
        f"| trial | run | frozen {BEFORE} before | frozen from {EARLY} | loss | loss, {BEFORE} before | from {EARLY} |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        when = [str(step) if step >= 0 else "not yet" for step in row.offshoots]
        lines.append(f"| {row.trial} | {' | '.join(when)} | {' | '.join(f'{loss:.4f}' for loss in row.losses)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    assert __doc__ is not None
    explain_trials(__doc__, explain, page)
