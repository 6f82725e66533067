"""A BERT on a lag task: one token in six is hidden and follows from the token some places before it."""

from __future__ import annotations

import torch
from torch import Tensor

from headwise.zoo.models.hugging_face import tiny_bert
from headwise.zoo.training import IGNORED, Kind, Setting, Training, seeded


def make(setting: Setting, seed: int) -> Training:
    """Token t is a fixed permutation of token t - distance, but for one in ten; the mask is the last token id."""
    vocabulary, length, distance = setting["vocabulary"], setting["length"], setting["distance"]
    follow = torch.randperm(vocabulary, generator=seeded(seed))

    def draw(rng: torch.Generator, count: int) -> tuple[Tensor, Tensor]:
        tokens = torch.randint(vocabulary, (count, length), generator=rng)
        other = torch.rand(count, length, generator=rng) < 0.1
        for t in range(distance, length):
            tokens[:, t] = torch.where(other[:, t], tokens[:, t], follow[tokens[:, t - distance]])
        hidden = torch.rand(count, length, generator=rng) < 1 / 6
        hidden[:, :distance] = False
        return tokens.masked_fill(hidden, vocabulary), tokens.masked_fill(~hidden, IGNORED)

    model = tiny_bert(
        vocabulary=vocabulary + 1,
        length=length,
        width=setting["width"],
        heads=setting["heads"],
        blocks=1,
        seed=seed,
    )
    return Training(model, draw, steps=setting["steps"], rate=setting["rate"], warmup=setting["warmup"], batch=48)


BASE: Setting = {
    "vocabulary": 10,
    "length": 12,
    "distance": 1,
    "width": 32,
    "heads": 2,
    "rate": 0.01,
    "steps": 400,
    "warmup": 100,
}

KIND = Kind(
    "bert",
    __doc__,
    make,
    development=(BASE, {**BASE, "distance": 3}),
    held_out=({**BASE, "distance": 2, "vocabulary": 8}, {**BASE, "distance": 1, "length": 14}),
    runs=(2, 4),
)
