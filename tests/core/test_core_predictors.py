"""The label of a predictor in every notation, and choosing predictors by kind."""

from __future__ import annotations

import pytest
from matplotlib.mathtext import MathTextParser

from headwise.core.predictors import predictor_label, predictors_of_kind


@pytest.mark.parametrize(
    ("name", "ascii_label", "unicode_label", "math_label"),
    [
        ("prefix_1", "f_{A_1}", "f(A₁)", "$f_{A_1}$"),
        ("prefix_3", "f_{A_1:3}", "f(A₁:₃)", "$f_{A_{1:3}}$"),
        ("window_4", "context 4", "context 4", "context 4"),
        ("bayes_1", "best seeing I(1)", "best seeing I(1)", "best seeing I(1)"),
        ("bayes_2", "best seeing I(1..2)", "best seeing I(1..2)", "best seeing I(1..2)"),
        ("ngram_0", "uniform", "uniform", "uniform"),
        ("ngram_3", "3-gram", "3-gram", "3-gram"),
        ("context_2", "2-gram in context", "2-gram in context", "2-gram in context"),
        ("bayes_uniform_2", "bayes_uniform_2", "bayes_uniform_2", "bayes_uniform_2"),
        ("teacher", "teacher", "teacher", "teacher"),
    ],
)
def test_labels(name: str, ascii_label: str, unicode_label: str, math_label: str) -> None:
    assert predictor_label(name) == ascii_label
    assert predictor_label(name, "unicode") == unicode_label
    assert predictor_label(name, "math") == math_label


def test_matplotlib_reads_the_mathematical_label() -> None:
    MathTextParser("path").parse(predictor_label("prefix_12", "math"))


def test_kinds_are_told_apart() -> None:
    names = ["prefix_1", "prefix_2", "window_4", "bayes_1", "bayes_uniform_1"]
    assert predictors_of_kind(names, "prefix") == ["prefix_1", "prefix_2"]
    assert predictors_of_kind(names, "window") == ["window_4"]
    assert predictors_of_kind(names, "bayes") == ["bayes_1"]
