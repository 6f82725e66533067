"""A GPT written by hand and trained on characters, as small teaching repositories do it, watched.

    python examples/hand_written_gpt.py --out hand_written_gpt

Nothing in such a model says where its attention is, so the watch is told: the weights go through the dropouts that are
called `blocks.*.attention.drop`. The text is Python's own `argparse`. A minute on one free core.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import headwise

LENGTH = 48


class Attention(nn.Module):
    """Scores, a mask, a softmax, a dropout, values."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.read = nn.Linear(width, 3 * width)
        self.write = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.read(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = query @ key.mT / key.shape[-1] ** 0.5
        ahead = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        weights = self.drop(scores.masked_fill(ahead, -torch.inf).softmax(-1))
        return self.write((weights @ value).transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention, then two linear layers, each added to what came in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention, self.before, self.after = Attention(width, heads), nn.LayerNorm(width), nn.LayerNorm(width)
        self.think = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.before(x))
        return x + self.think(self.after(x))


class Gpt(nn.Module):
    """Logits of the next character; the second block has fewer heads than the first, which is as good a choice."""

    def __init__(self, letters: int, width: int = 48) -> None:
        super().__init__()
        self.letters, self.places = nn.Embedding(letters, width), nn.Embedding(LENGTH, width)
        self.blocks = nn.ModuleList([Block(width, heads=4), Block(width, heads=2)])
        self.out = nn.Linear(width, letters)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.letters(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("hand_written_gpt"))
    options = parser.parse_args()

    text = Path(argparse.__file__).read_text(encoding="utf-8")
    letters = sorted(set(text))
    ids = torch.tensor([letters.index(letter) for letter in text])

    def get_batch(count: int) -> tuple[Tensor, Tensor]:
        starts = torch.randint(len(ids) - LENGTH, (count,))
        return (
            torch.stack([ids[start : start + LENGTH] for start in starts]),
            torch.stack([ids[start + 1 : start + LENGTH + 1] for start in starts]),
        )

    def decode(some: list[int]) -> str:
        return "".join(letters[one] for one in some)

    torch.manual_seed(0)
    model = Gpt(len(letters))
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3)
    shown, _ = get_batch(32)
    with headwise.watch(model, tokens=shown, every="auto", decode=decode, attention="blocks.*.attention.drop") as w:
        for _ in range(options.steps):
            inputs, targets = get_batch(32)
            loss = cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            w.step(loss)
    print(w)
    print(w.report())
    options.out.mkdir(parents=True, exist_ok=True)
    w.page(options.out / "heads.html")


if __name__ == "__main__":
    main()
