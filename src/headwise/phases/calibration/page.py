"""The text of docs/detection.md: thresholds compared on one half of the synthetic suite, scored on a half drawn afresh.

The page is made by this module alone: change the generator or a threshold, run `python -m headwise.phases.calibration`
again, and commit the page it writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwise.core.markdown import markdown_table
from headwise.phases.calibration.calibrate import CASES, SCORING_SEED, SEED, halves, trials
from headwise.phases.calibration.scoring import Exam, Score, moved_at_most_one_interval, prepare, score
from headwise.phases.calibration.synthetic import Ranges, suite
from headwise.phases.config import DEFAULT, Thresholds
from headwise.phases.views import VIEWS, ViewName


def page(count: int = CASES) -> str:
    """The text of docs/detection.md, with all its numbers."""
    chosen_on = halves(prepare(suite(count, SEED)))[0]
    scored_on = halves(prepare(suite(count, SCORING_SEED)))[1]
    merits = trials(chosen_on, DEFAULT)
    final = {name: score(scored_on, name, DEFAULT) for name in VIEWS}
    staged = [exam for exam in scored_on if exam.case.kind == "staged"]
    stable = {
        name: sum(moved_at_most_one_interval(exam, name, DEFAULT) for exam in staged) / len(staged) for name in VIEWS
    }
    parts = [
        _INTRODUCTION.format(count=count, half=len(scored_on), seed=SEED, fresh=SCORING_SEED),
        _ranges(),
        _results(final, stable),
        _chosen(merits),
        _penalties(scored_on),
        _intervals(scored_on),
        _LIMITS,
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


_INTRODUCTION = """
# How far the detector can be trusted

This page is written by `python -m headwise.phases.calibration`; do not edit it.

The detector has three independent views of a run: the KL to known predictors (*function*), the excess loss (*loss*) and
the patterns that heads copy (*heads*). Its thresholds are the same for every experiment. Half of the
synthetic trajectories have stages; the others only slow down, rise from overfitting or stay flat, and their heads never
leave the first pattern.

How the thresholds were found: the detector, its thresholds and the generator's ranges were developed together, by hand,
with the cases of seed {seed} in view (both halves) and with a few training runs and flows in view too: published
minimal runs, runs with m = 1 and with u = 0, and the flow. So agreement with runs of those kinds is not independent
evidence. The table of the choice, on one half of {count} cases of seed {seed}, shows afterwards that no listed value
does clearly better. The scores are on one half of {count} cases of seed {fresh}, {half} trajectories first drawn when
everything was fixed; they are independent of the thresholds but not of the ranges, which the same hand wrote.
"""

_LIMITS = """
## What this does not show

The synthetic curves imitate shapes, not models; a run whose drops are wider than the stated ranges, or whose plateaus
are shorter than `plateau`, is outside of what was tested. A stage shorter than `plateau` is merged into its neighbours
on purpose. The first stage of the loss view may be an initial plateau on which nothing has been learned; it is
labelled so. A relative accuracy of a few percent of the run is what the boundaries are good for: the middle of a drop
is well defined, its beginning is not.
"""


def _section(title: str, text: str, table: str) -> str:
    return "\n\n".join(part for part in (f"## {title}", text.strip(), table) if part)


def _ranges() -> str:
    ranges = Ranges()
    rows = [
        (name, field.description, _range_text(getattr(ranges, name))) for name, field in Ranges.model_fields.items()
    ]
    return _section("Ranges of the generator", "", markdown_table(("quantity", "meaning", "range"), rows))


def _range_text(value: object) -> str:
    return f"{value[0]:g} to {value[1]:g}" if isinstance(value, tuple) else f"{value:g}"


def _results(final: Mapping[ViewName, Score], stable: Mapping[ViewName, float]) -> str:
    columns = (
        "view",
        "number of stages right",
        "boundaries found (recall)",
        "found ones real (precision)",
        "false stages on stage-free runs",
        "median error",
        "95 % error",
        "stable when thinned",
    )
    rows = [
        (
            name,
            *(f"{share:.1%}" for share in (s.right_count, s.recall, s.precision, s.false_stages)),
            f"{s.median_error:.2%}",
            f"{s.large_error:.2%}",
            f"{stable[name]:.1%}",
        )
        for name, s in final.items()
    ]
    return _section("Scores on cases first drawn when everything was fixed", _RESULTS, markdown_table(columns, rows))


_RESULTS = """
A boundary is found when it is within 5 % of the run's length. Errors are shares of that length. The last
column is the share of trajectories *with* stages whose boundaries all stay and move by at most one new
interval when every second evaluation is dropped.
"""


def _chosen(merits: Mapping[str, Mapping[float, float]]) -> str:
    rows = []
    for key, values in merits.items():
        default = getattr(DEFAULT, key)
        cells = (f"**{v:g}: {m:.3f}**" if v == default else f"{v:g}: {m:.3f}" for v, m in values.items())
        rows.append((key, Thresholds.model_fields[key].description, ", ".join(cells)))
    return _section("The choice", _CHOICE, markdown_table(("threshold", "meaning", "value: merit"), rows))


_CHOICE = """
Merit on the calibration half for each value of one threshold with the others as chosen (bold): the share of
right counts plus the share of boundaries found, minus twice the share of false stages, of the worse of the
views that use the threshold. Two is perfect.
"""


def _penalties(exams: Sequence[Exam]) -> str:
    views: tuple[ViewName, ...] = ("function", "loss")
    rows = []
    for factor in (0.1, 0.3, 1.0, 3.0, 10.0):
        changed = DEFAULT.changed({"penalty": DEFAULT.penalty * factor})
        scores = (score(exams, name, changed) for name in views)
        cells = (f"{s.right_count:.1%} / {s.false_stages:.1%}" for s in scores)
        rows.append((f"{factor:g}", f"{changed.penalty:g}", *cells))
    text = "Number of stages right / false stages, on the scoring half."
    return _section("Sensitivity to the penalty", text, markdown_table(("factor", "penalty", *views), rows))


def _intervals(exams: Sequence[Exam]) -> str:
    rows = []
    for every in (1, 2, 3, 4):
        thinned = [Exam(exam.case, exam.heads, every) for exam in exams]
        scores = (score(thinned, name, DEFAULT) for name in VIEWS)
        cells = (f"{s.right_count:.1%} / {s.false_stages:.1%} / {s.median_error:.2%}" for s in scores)
        rows.append((str(every), *cells))
    text = "Number of stages right / false stages / median error when only every n-th evaluation is kept."
    return _section("Sensitivity to the evaluation interval", text, markdown_table(("n", *VIEWS), rows))
