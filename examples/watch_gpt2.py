"""Train a small GPT-2 on a made-up language and watch its heads compete and leave, one at a time.

    python examples/watch_gpt2.py --out watch_gpt2

The next word depends on the words 2, 5 and 8 places back, in this order of importance. The model (one block of three
heads, from its config, nothing is downloaded) is not told; neither is the watch. Takes about a minute on one free core.
docs/probe.md walks through the result.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
import transformers

from headwise.core.seeds import Stream, generator
from headwise.probe import Watch, watch
from headwise.task.chain import Task, build_task, sample
from headwise.task.config import TaskConfig
from headwise.view.sheets.heads_by_lag import heads_by_lag
from headwise.view.write import write_sheet

LANGUAGE = TaskConfig(d=20, w=8, T=24, h=3, groups=((2,), (5,), (8,)), alpha="sum", m=1.5)
"""Twenty words; each next one follows from three earlier ones, the nearest counting most."""


def small_gpt2(width: int) -> transformers.GPT2LMHeadModel:
    """GPT-2 as the library builds it, without dropout, which would only blur the picture."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=LANGUAGE.d,
        n_positions=LANGUAGE.w + LANGUAGE.T,
        n_embd=width,
        n_layer=1,
        n_head=3,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
    )
    return transformers.GPT2LMHeadModel(config)


def sentences(task: Task, count: int, *, step: int) -> torch.Tensor:
    """Fresh sentences for each step; step 0 is what the watch shows."""
    return torch.from_numpy(sample(task, count, generator(0, Stream.DATA, step)))


def training_step(model: transformers.GPT2LMHeadModel, optimiser: torch.optim.Optimizer, rows: torch.Tensor) -> float:
    """One step as anybody writes it; the first words of a sentence follow from nothing and do not count."""
    labels = rows.clone()
    labels[:, : LANGUAGE.w] = -100
    loss = model(input_ids=rows, labels=labels).loss
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return loss.item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--sentences", type=int, default=128, help="sentences of a batch")
    parser.add_argument("--every", type=int, default=5, help="steps between looks")
    parser.add_argument("--out", type=Path, default=Path("watch_gpt2"))
    options = parser.parse_args()

    task = build_task(LANGUAGE, 0)
    model = small_gpt2(options.width)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with watch(model, every=options.every, tokens=sentences(task, 32, step=0)) as w:
        print(w.seen)
        for step in range(1, options.steps + 1):
            loss = training_step(model, optimiser, sentences(task, options.sentences, step=step))
            w.step(loss)
            if step % 100 == 0:
                print(f"step {step}: loss {loss:.3f}", flush=True)
    tell(w, options.out)


def tell(w: Watch, out: Path) -> None:
    """The picture, the report, and its events in words."""
    write_sheet(heads_by_lag(w.trajectory), out / "heads_by_lag.png")
    report = w.report().to_json()
    (out / "report.json").write_text(json.dumps(report, indent=2))
    for offshoot in report["offshoots"]:
        print(f"step {offshoot['step']:.0f}: head {offshoot['head']} leaves {offshoot['from']} for {offshoot['to']}")
    for head in report["specialised"]["heads"]:
        held = "nothing" if head["pattern"] is None else f"lag {head['pattern']} ({head['share']:.0%})"
        print(f"head {head['head']} ends copying {held}")


if __name__ == "__main__":
    main()
