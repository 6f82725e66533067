"""What is known of a model and n-gram predictors, in words: nearest to one, closest at a step, never equal to one."""

from __future__ import annotations

from collections.abc import Sequence

from headwise.core.predictors import predictor_label
from headwise.phases.nearest_predictor import Closest, Nearest, passed_ngrams
from headwise.phases.undecided import Undecided


def nearest_sentences(nearest: Sequence[Nearest]) -> list[str]:
    """One sentence for each stretch."""
    if len(nearest) == 1:
        (only,) = nearest
        return [f"nearest to the {predictor_label(only.predictor)} predictor throughout, {_distance(only)}"]
    return [
        f"from {stretch.start:.4g} to {stretch.end:.4g} nearest to the {predictor_label(stretch.predictor)} predictor, "
        f"{_distance(stretch)}"
        for stretch in nearest
    ]


def closest_text(closest: Sequence[Closest]) -> str:
    """When the model was closest to each n-gram predictor, in order of time."""
    told = [
        f"the {predictor_label(point.predictor)} predictor at {point.step:.4g}"
        + ("" if point.passed else " (not passed by the end)")
        for point in sorted(passed_ngrams(closest), key=lambda point: point.step)
    ]
    return f"closest to {', then '.join(told)}" if told else "no n-gram predictor was approached"


def open_choice(names: Sequence[str], apart: float) -> Undecided:
    """Which of these predictors the model is nearest to cannot be told."""
    *others, last = (predictor_label(name) for name in names)
    return Undecided(
        f"the {', '.join(others)} and {last} predictors apart", f"on this batch they differ by less than {apart:g} nats"
    )


def open_comparison(notes: Sequence[str]) -> tuple[Undecided, ...]:
    """Why a model that was to be compared with n-gram predictors could not be, if its source noted a reason."""
    mark = "predictors: the model cannot be compared with n-gram predictors: "
    reasons = [note.removeprefix(mark) for note in notes if note.startswith(mark)]
    return tuple(Undecided("which n-gram predictor the model is nearest to", reason) for reason in reasons)


def _distance(stretch: Nearest) -> str:
    return f"{stretch.nats:.2g} nats from it at {stretch.step:.4g}"
