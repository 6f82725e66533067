"""The constants of `model.cost`, fitted to measured steps: `python -m headwise.bench.fit_costs [LEVEL]`.

Steps of many sizes are timed with every source of the first block's attention, in processor time, and the constants are
the non-negative ones that explain these times with the smallest relative error. What does not depend on the source has
columns of its own in the fit, which nobody uses afterwards. Prints the constants as they stand in the source.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import torch
from scipy.optimize import nnls

from headwise.bench.cases import CHUNK, SEED, Sizes, prepared
from headwise.bench.levels import limited_to
from headwise.model import kernel
from headwise.model.config import FULL_PUBLISHED, FULL_TEXT, MINIMAL_PUBLISHED
from headwise.model.cost import Work, work
from headwise.model.folded_blocks import Source
from headwise.model.kernel_engine import KernelEngine
from headwise.model.plan import batch_sizes, possible
from headwise.model.tables import Output

REPEATS = 3
MOST_PAIRS = 8000
LEARNING = {"init": "xavier", "init_scale": 1.0, "init_values": "xavier"}
MINIMAL = MINIMAL_PUBLISHED.changed(LEARNING)
DROPPED = FULL_PUBLISHED
SETTINGS = (
    Sizes(FULL_TEXT, batch=300),
    Sizes(FULL_TEXT, batch=60),
    Sizes(FULL_TEXT, batch=8),
    Sizes(FULL_TEXT, d=200, batch=150),
    Sizes(FULL_TEXT, d=500, batch=60),
    Sizes(FULL_TEXT, d=1000, batch=30),
    Sizes(FULL_TEXT, T=100, batch=30),
    Sizes(FULL_TEXT.changed({"heads": 15}), batch=100),
    Sizes(FULL_TEXT.changed({"width": 60}), batch=300),
    Sizes(FULL_TEXT.changed({"norm": "pre"}), batch=300),
    Sizes(FULL_TEXT.changed({"norm": "pre"}), d=20, batch=300),
    Sizes(DROPPED, batch=150),
    Sizes(DROPPED, batch=16),
    Sizes(DROPPED, d=400, batch=60),
    Sizes(MINIMAL, w=6, batch=300),
    Sizes(MINIMAL, w=6, batch=60),
    Sizes(MINIMAL, w=6, d=300, batch=60),
    Sizes(MINIMAL, w=6, d=800, batch=16),
    Sizes(MINIMAL, w=6, T=100, batch=60),
)


def shared(sizes: Sizes) -> tuple[float, ...]:
    """What a step does whatever the source: products after attention, rows of the stream, tables of the dictionary."""
    decoder, _, _ = prepared(sizes._replace(batch=1))
    writes, rows = decoder.layers[0].writes, sizes.batch * sizes.T
    units = 2 * sizes.model.mlp + (sizes.d if sizes.model.unembedding == "learned" else 0)
    return 3.0 * rows * writes * units, float(rows * writes), float(rows * sizes.d), float(sizes.d * writes)


def measured(sizes: Sizes, source: Source, output: Output) -> float:
    """Seconds of a step in processor time, the smallest of a few."""
    decoder, inputs, targets = prepared(sizes)
    engine = KernelEngine(decoder, dropout_seed=SEED, chunk=CHUNK, source=source, output=output)
    seconds = []
    for _ in range(REPEATS + 1):
        start = time.process_time()
        engine.loss_and_gradients(inputs, targets, step=0)
        seconds.append(time.process_time() - start)
    return min(seconds[1:])


def fit() -> Work:
    """The constants at the instruction level in use; prints how well they explain each step."""
    rows, times, names = [], [], []
    for number, sizes in enumerate(SETTINGS):
        for source in possible(sizes.model, training=True):
            if source == "pairs" and sizes.d * sizes.positions > MOST_PAIRS:
                continue
            outputs: tuple[Output, ...] = ("folded", "apart")
            if sizes.model.output == "off" or source == "dropped":
                outputs = ("folded",)
            for output in outputs:
                decoder, _, _ = prepared(sizes._replace(batch=1))
                counted = batch_sizes(decoder, batch=sizes.batch, queries=sizes.T, chunk=CHUNK, training=True)
                rows.append([*work(counted, source, output), *shared(sizes)])
                times.append(measured(sizes, source, output))
                names.append(f"{number} {source} {output}")
    matrix, seconds = np.array(rows), np.array(times)
    scale = matrix.max(axis=0)
    found, _ = nnls(matrix / scale / seconds[:, None], np.ones_like(seconds))
    constants = found / scale
    for name, took, said in zip(names, seconds, matrix @ constants, strict=True):
        print(f"# {name:24} {took:.4f} s, fitted {said:.4f} s", file=sys.stderr)
    return Work(*constants[: len(Work._fields)])


def main(level: str) -> None:
    torch.set_num_threads(1)
    with limited_to(level):
        constants = fit()
    print(f'    "{level}": Work(')
    for name, value in constants._asdict().items():
        print(f"        {name}={value:.2e},")
    print("    ),")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else kernel.level())
