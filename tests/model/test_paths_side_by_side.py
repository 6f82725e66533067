"""Two runs in two processes leave each other's speed alone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

ONE_RUN = """
import sys, time, torch
from headwise.model.compute import ComputeConfig
from headwise.model.config import FULL_TEXT
from headwise.model.decoder import Decoder
from headwise.model.initialise import initialise
from headwise.model.paths import make_engine
torch.set_num_threads(1)
decoder = Decoder(FULL_TEXT, dictionary=50, positions=31)
initialise(decoder, 0)
engine = make_engine(decoder, ComputeConfig(), dropout_seed=0)
tokens = torch.randint(50, (1500, 32))
run = lambda: engine.loss_and_gradients(tokens[:, :-1], tokens[:, -20:], step=0)
run()
print("ready", flush=True)
sys.stdin.readline()
start = time.perf_counter()
for _ in range(20):
    run()
print(time.perf_counter() - start)
"""


def side_by_side(count: int) -> float:
    """Seconds of the slowest of `count` equal processes that start together."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    runs = [
        subprocess.Popen([sys.executable, "-c", ONE_RUN], env=environment, text=True, **pipes) for _ in range(count)
    ]
    for run in runs:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
    return max(float(run.communicate("go\n")[0]) for run in _all_started(runs))


def _all_started(runs: list[subprocess.Popen[str]]) -> list[subprocess.Popen[str]]:
    for run in runs:
        assert run.stdin is not None
        run.stdin.write("go\n")
        run.stdin.flush()
    return runs


@pytest.mark.slow
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
def test_two_runs_side_by_side_cost_little() -> None:
    """At most 1.15 times one run where the cores are whole; two threads of one core share its arithmetic units, and
    on a busy machine the best of a few tries is what the processor can do."""
    best = min(side_by_side(2) / side_by_side(1) for _ in range(3))
    assert best < 1.15
