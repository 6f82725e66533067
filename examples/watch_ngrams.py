"""Train a small GPT-2 on the characters of Python's own source and see which n-gram predictors it passes.

    python examples/watch_ngrams.py --out watch_ngrams

Nothing is downloaded: the text is the standard library of the Python that runs this. docs/probe.md shows the result.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numpy as np
import torch
import transformers

from headwise import watch

LENGTH = 64
HELD_OUT = 0.02
"""Share of the text that is never trained on nor counted, at its end: the batch that is shown comes from there."""


def characters(most: int) -> tuple[np.ndarray, int]:
    """The text as ids, and how many different characters it has."""
    files = sorted(Path(os.__file__).parent.glob("*.py"))
    text = "".join(file.read_text(encoding="utf-8", errors="ignore") for file in files)
    letters = np.frombuffer(text.encode("ascii", "ignore"), dtype=np.uint8)[:most]
    known, ids = np.unique(letters, return_inverse=True)
    return ids, len(known)


def rows(ids: np.ndarray, count: int, rng: np.random.Generator) -> torch.Tensor:
    """Pieces of the text, drawn at random."""
    start = rng.integers(len(ids) - LENGTH, size=count)
    return torch.from_numpy(ids[start[:, None] + np.arange(LENGTH)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--every", type=int, default=10, help="steps between looks")
    parser.add_argument("--characters", type=int, default=10_000_000, help="use at most so many of the text")
    parser.add_argument("--out", type=Path, default=Path("watch_ngrams"))
    options = parser.parse_args()

    ids, vocabulary = characters(options.characters)
    corpus, held_out = np.split(ids, [int((1 - HELD_OUT) * len(ids))])
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    shape = {"n_embd": options.width, "n_layer": 2, "n_head": 4, "n_positions": LENGTH, "vocab_size": vocabulary}
    quiet = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "bos_token_id": 0, "eos_token_id": 0}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**shape, **quiet))
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3)
    with watch(model, every=options.every, tokens=rows(held_out, 32, rng), corpus=corpus) as w:
        for _ in range(options.steps):
            batch = rows(corpus, 32, rng)
            loss = model(input_ids=batch, labels=batch).loss
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            w.step(loss)
    report = w.report()
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "report.json").write_text(json.dumps(report.to_json(), indent=2))
    for sentence in report.function.sentences:
        print(sentence)


if __name__ == "__main__":
    main()
