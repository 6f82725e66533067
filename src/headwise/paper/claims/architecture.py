"""Which parts of the decoder matter (§2.2 footnote, §2.4): position encodings and the ladder of removals."""

from __future__ import annotations

from headwise.paper.entry import Case, Claim
from headwise.paper.quantities import IN_ORDER, RISE, judge_order
from headwise.paper.verdict import Judgement

LADDER = ("no-norm", "no-residual", "no-mlp", "no-dropout", "no-key", "no-all")
POSITIONS = ("positions-relative", "positions-sinusoidal")


def judge_each(case: Case, names: tuple[str, ...]) -> Judgement:
    """The order test on several runs: all must pass; measured: the smallest rise among them."""
    found = {name: judge_order(case.runs[name]) for name in names}
    unread = [name for name, one in found.items() if one.passed is None]
    rises = [one.measured for one in found.values() if one.measured is not None]
    note = "; ".join(f"{name}: {'holds' if one.passed else 'fails'} ({one.note})" for name, one in found.items())
    if unread:
        return Judgement(None, None, note)
    return Judgement(all(one.passed for one in found.values()), min(rises), note)


OVER_RUNS = "smallest rise of the first two distances after their minimum, over the runs (nats)"

CLAIMS = (
    Claim(
        "positions",
        "sec:representation, footnote",
        "relative and sinusoidal positions give the same stages",
        POSITIONS,
        quantity=OVER_RUNS,
        threshold=f"{IN_ORDER}, with either encoding",
        limit=RISE,
        judge=lambda case: judge_each(case, POSITIONS),
    ),
    Claim(
        "ladder",
        "sec:minimal",
        "removing norm, residual, MLP, dropout or key matrix, alone or together, keeps the stages",
        LADDER,
        quantity=OVER_RUNS,
        threshold=f"{IN_ORDER}, for every removal and for all together",
        limit=RISE,
        judge=lambda case: judge_each(case, LADDER),
    ),
)
