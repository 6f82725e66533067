"""Which parts of the decoder matter (§2.2 footnote, §2.4): position encodings and the ladder of removals."""

from __future__ import annotations

from headwise.paper.entry import FUNCTION, Case, Claim
from headwise.paper.stages import IN_STAGES, NEARER, NEAREST_RATIO, judge_stages
from headwise.paper.verdict import Judgement

LADDER = ("no-norm", "no-residual", "no-mlp", "no-dropout", "no-key", "no-all")
POSITIONS = ("positions-relative", "positions-sinusoidal")


def judge_each(case: Case, names: tuple[str, ...]) -> Judgement:
    """The test of stages on several runs: all must pass; measured: the largest ratio among them."""
    found = {name: judge_stages(case.runs[name]) for name in names}
    words = {True: "holds", False: "fails", None: "open"}
    note = "; ".join(f"{name}: {words[one.passed]} ({one.note})" for name, one in found.items())
    worst = max((one.measured for one in found.values() if one.measured is not None), default=None)
    if any(one.passed is False for one in found.values()):
        return Judgement(False, worst, note)
    return Judgement(None if any(one.passed is None for one in found.values()) else True, worst, note)


CLAIMS = (
    Claim(
        "positions",
        "sec:representation, footnote",
        "relative and sinusoidal positions give the same stages",
        POSITIONS,
        quantity=f"{NEAREST_RATIO}, over the runs",
        unit="ratio of KL divergences",
        threshold=f"with either encoding {IN_STAGES}",
        limit=NEARER,
        concerns=FUNCTION,
        judge=lambda case: judge_each(case, POSITIONS),
    ),
    Claim(
        "ladder",
        "sec:minimal",
        "removing norm, residual, MLP, dropout or key matrix, alone or together, keeps the stages",
        LADDER,
        quantity=f"{NEAREST_RATIO}, over the runs",
        unit="ratio of KL divergences",
        threshold=f"for every removal and for all together {IN_STAGES}",
        limit=NEARER,
        concerns=FUNCTION,
        judge=lambda case: judge_each(case, LADDER),
    ),
)
