"""The full decoder beside models trained with a restricted context (Fig. kl, right)."""

from __future__ import annotations

import itertools

import numpy as np

from headwise.paper.entry import FUNCTION, Case, Claim
from headwise.paper.quantities import passage
from headwise.paper.stages import IN_STAGES, NEARER, NEAREST_RATIO, judge_stages
from headwise.paper.verdict import Judgement


def judge_windows(case: Case) -> Judgement:
    """Nearest in turn to the trained models of context 4 and 8 and, at the end, to the last predictor.

    That is the exact law as published, the trained model of context 12 in the text's words. How close the run comes is
    judged on the best predictors of the same lags, which do not depend on how well a restricted model was trained; a
    last stage that is not over there is open here too.
    """
    trajectory = case.runs["windows"]
    names = ("window_4", "window_8", "window_12" if case.preset == "text" else "prefix_3")
    seen = passage(trajectory, names)
    if seen is None:
        return Judgement(None, None, "the distances to the trained models were not recorded or are not finite")
    stages = judge_stages(trajectory)
    nearest = trajectory["kl"].sel(predictor=list(names)).values[1:].argmin(1)
    times = [np.flatnonzero(nearest == k) for k in range(len(names))]
    in_turn = all(len(one) for one in times) and all(
        a[0] < b[0] and a[-1] < b[-1] for a, b in itertools.pairwise(times)
    )
    note = f"{seen.note}; {stages.note}"
    if stages.passed is None:
        return Judgement(None, stages.measured, note)
    return Judgement(stages.passed and in_turn and bool(nearest[-1] == len(names) - 1), stages.measured, note)


CLAIMS = (
    Claim(
        "windows",
        "fig:kl right",
        "the full decoder passes the trained models of context 4 and 8 and ends nearest to full context",
        ("windows",),
        quantity=NEAREST_RATIO,
        unit="ratio of KL divergences",
        threshold=f"nearest to context 4, 8 and the last in turn, to the last at the end; and {IN_STAGES}",
        limit=NEARER,
        concerns=FUNCTION,
        judge=judge_windows,
    ),
)
