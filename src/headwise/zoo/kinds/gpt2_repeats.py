"""Repeated random tokens of varied period in a tiny Hugging Face GPT-2."""

from __future__ import annotations

from functools import partial

from headwise.zoo.models.hugging_face import tiny_gpt2
from headwise.zoo.sequences import repeats
from headwise.zoo.training import Kind, Setting, Training, next_token


def make(setting: Setting, seed: int) -> Training:
    """Weights at the start from the seed; every sequence has a piece of its own."""
    vocabulary, length = setting["vocabulary"], setting["length"]
    draw = partial(repeats, vocabulary=vocabulary, length=length + 1, periods=tuple(setting["periods"]))
    model = tiny_gpt2(
        vocabulary=vocabulary, length=length, width=setting["width"], heads=setting["heads"], blocks=2, seed=seed
    )
    return Training(model, next_token(draw), steps=setting["steps"], rate=setting["rate"], warmup=setting["warmup"])


BASE: Setting = {
    "vocabulary": 12,
    "length": 20,
    "width": 48,
    "heads": 2,
    "periods": [4, 9],
    "rate": 0.01,
    "steps": 500,
    "warmup": 60,
}

KIND = Kind(
    "gpt2_repeats",
    __doc__,
    make,
    development=(BASE,),
    held_out=({**BASE, "vocabulary": 14, "periods": [4, 10], "length": 22},),
    runs=(1, 2),
)
