"""Names of predictors in a trajectory (§2.3), and the one label that tables, figures and pages give each of them.

`prefix_2` is Eq. 2 with the first two groups, `window_4` a trained model that sees four tokens, `bayes_2` the best
predictor that sees the first two groups, `ngram_2` the 2-gram predictor of a corpus, `context_2` that of the sequence
itself. What they compute is not here but in `headwise.task.predictors` and `headwise.baselines.predictors`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Kind = Literal["prefix", "window", "bayes", "ngram", "context"]
Notation = Literal["ascii", "unicode", "math"]
"""`ascii` for tables and CSV, `unicode` for pages in a browser, `math` for matplotlib."""

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def predictor_label(name: str, notation: Notation = "ascii") -> str:
    """What a predictor is called in text; a name of another form is its own label."""
    kind, _, number = name.rpartition("_")
    if not number.isdecimal():
        return name
    labels = {
        "prefix": _prefix_label(number, notation),
        "window": f"context {number}",
        "bayes": "best seeing I(1)" if number == "1" else f"best seeing I(1..{number})",
        "ngram": "uniform" if number == "0" else f"{number}-gram",
        "context": f"{number}-gram in context",
    }
    return labels.get(kind, name)


def predictor_order(name: str) -> int:
    """The number in a predictor's name: how much it sees."""
    return int(name.rpartition("_")[2])


def predictors_of_kind(names: Iterable[object], kind: Kind) -> list[str]:
    """The names of one kind, in the order given."""
    return [text for name in names if (text := str(name)).rpartition("_")[0] == kind]


def _prefix_label(number: str, notation: Notation) -> str:
    if notation == "unicode":
        return "f(A₁)" if number == "1" else f"f(A₁:{number.translate(SUBSCRIPTS)})"
    if notation == "math":
        return "$f_{A_1}$" if number == "1" else f"$f_{{A_{{1:{number}}}}}$"
    return "f_{A_1}" if number == "1" else f"f_{{A_1:{number}}}"
