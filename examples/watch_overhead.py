"""What watching costs: steps of the tutorial's GPT-2 with and without a watch, interleaved.

    python examples/watch_overhead.py [--corpus 10000]

Rounds of `every` steps alternate between a watched and a plain model. A watched round holds exactly one look. The
overhead is the median over rounds of watched time over plain time, minus one, in processor time of this process, which
a busy machine does not change much; the look's own time is given too. With `--corpus` the watch also compares the model
with n-gram predictors, counted on that many sentences before the first step.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import statistics
import time
from pathlib import Path

import torch
from watch_gpt2 import LANGUAGE, sentences, small_gpt2, training_step

from headwise.probe import watch
from headwise.task.chain import build_task


def resident_kilobytes() -> int:
    """Memory in use now (Linux, glibc), without what the allocator keeps in reserve."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--corpus", type=int, default=0, help="sentences to count n-grams on (default: no n-grams)")
    options = parser.parse_args()
    task = build_task(LANGUAGE, 0)
    watched, plain = small_gpt2(96), small_gpt2(96)
    optimisers = {id(model): torch.optim.AdamW(model.parameters(), lr=1e-3) for model in (watched, plain)}
    ratios, looks, steps, memory = [], [], [], []
    corpus = sentences(task, options.corpus, step=10**9) if options.corpus else None
    with watch(watched, every=options.every, tokens=sentences(task, 32, step=0), corpus=corpus) as w:
        for number in range(1, options.rounds * options.every + 1):
            rows = sentences(task, 128, step=number)
            # Whichever goes second finds warm caches, so they take turns.
            for model in (plain, watched) if number % 2 else (watched, plain):
                begun = time.process_time()
                loss = training_step(model, optimisers[id(model)], rows)
                steps.append((model is watched, time.process_time() - begun))
            begun = time.process_time()
            w.step(loss)
            if number % options.every == 0:
                looks.append(time.process_time() - begun)
                part = steps[-2 * options.every :]
                own = sum(taken for is_watched, taken in part if is_watched) + looks[-1]
                ratios.append(own / sum(taken for is_watched, taken in part if not is_watched) - 1)
                memory.append(resident_kilobytes())
    step_time = statistics.median(taken for is_watched, taken in steps if not is_watched)
    answer = {
        "every": options.every,
        "corpus_sentences": options.corpus,
        "watched_steps": options.rounds * options.every,
        "step_seconds": step_time,
        "look_seconds": statistics.median(looks),
        "look_over_steps": statistics.median(looks) / (options.every * step_time),
        "overhead_median": statistics.median(ratios),
        "overhead_quartiles": statistics.quantiles(ratios, n=4)[::2],
        "resident_kilobytes": memory,
        "record_bytes": w.trajectory.nbytes / w.trajectory.sizes["step"],
    }
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()
