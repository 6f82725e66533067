"""A training loop of one's own around layers of torch, watched.

    python examples/plain_loop.py --out plain_loop

The model learns to say each word again that stood four places earlier. Ten seconds on one free core; then
plain_loop/heads.html shows which head found the place.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn

import headwise

WORDS, LENGTH, BACK = 12, 24, 4


class SmallTransformer(nn.Module):
    """Two layers as torch brings them, behind an embedding of words and places."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, width), nn.Embedding(LENGTH, width)
        layer = nn.TransformerEncoderLayer(width, nhead=2, dim_feedforward=2 * width, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.out = nn.Linear(width, WORDS)

    def forward(self, ids: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1])
        unseen = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        return self.out(self.layers(self.words(ids) + self.places(places), mask=unseen, is_causal=True))


def sentences(count: int) -> Tensor:
    """Words at random, each of which comes again four places later with 9 chances in 10."""
    ids = torch.randint(WORDS, (count, LENGTH))
    for place in range(BACK, LENGTH):
        again = torch.rand(count) < 0.9
        ids[:, place] = torch.where(again, ids[:, place - BACK], ids[:, place])
    return ids


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--out", type=Path, default=Path("plain_loop"))
    options = parser.parse_args()

    torch.manual_seed(0)
    model = SmallTransformer()
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    with headwise.watch(model, tokens=sentences(32), every=10, decode=list("abcdefghijkl")) as w:
        for _ in range(options.steps):
            ids = sentences(64)
            guesses = model(ids[:, :-1])
            loss = nn.functional.cross_entropy(guesses.flatten(0, 1), ids[:, 1:].flatten())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            w.step(loss)
    print(w)
    print(w.report())
    options.out.mkdir(parents=True, exist_ok=True)
    w.page(options.out / "heads.html")


if __name__ == "__main__":
    main()
