"""What is known of a model and n-gram predictors, in words: nearest to one, closest at a step, never equal to one."""

from __future__ import annotations

from collections.abc import Sequence

from headwise.core.predictors import predictor_label
from headwise.phases.nearest_predictor import Closest, Nearest, passed_ngrams


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


def alike_text(names: Sequence[str], apart: float) -> str:
    """Which predictors cannot be told apart, under the name of the first."""
    first, *others = (predictor_label(name) for name in names)
    listed = f"{', '.join(others[:-1])} and {others[-1]} predictors" if len(others) > 1 else f"{others[0]} predictor"
    return f"cannot tell the {first} predictor from the {listed}: on this batch they differ by less than {apart:g} nats"


def _distance(stretch: Nearest) -> str:
    return f"{stretch.nats:.2g} nats from it at {stretch.step:.4g}"
