"""A run in miniature for the fault tests: resumes like a real one, and ends at the step given as its second argument.

Each number depends on all before it, so a step lost, doubled or resumed from the wrong state shows in every later byte.
"""

from __future__ import annotations

import sys

import numpy as np
import pyarrow.parquet  # noqa: F401  (imported before "ready", so that kills fall into the writing)
import safetensors.numpy  # noqa: F401

from headwise.store import RunDirectory, RunIdentity, describe_run, now

INTERVAL = 5


def main(path: str, last_step: int) -> None:
    run = RunDirectory(path)
    print("ready", flush=True)
    with run.writing():
        run.start(
            {"rate": 0.1},
            identity=RunIdentity({"rate": 0.1}, 0),
            coordinates={"predictor": ["prefix_1"]},
            attributes={"seed": 0},
        )
        run.log("started")
        checkpoint = run.latest_checkpoint()
        step = checkpoint.step if checkpoint else 0
        weights = checkpoint.arrays["weights"] if checkpoint else np.ones((2, 3))
        momentum = checkpoint.state["momentum"] if checkpoint else 0.3
        run.discard_after(step if checkpoint else -1)
        while step < last_step:
            steps, losses, maps = [], [], []
            for _ in range(INTERVAL):
                step += 1
                momentum = 0.9 * momentum + 0.1 * float(np.sin(step))
                weights = weights - 0.1 * momentum * np.cos(weights)
                steps.append(step)
                losses.append(float(np.sum(weights**2)))
                maps.append(weights[None, None].copy())
            run.write_snapshots(step, steps=np.array(steps), variables={"attention_map": np.array(maps)})
            run.write_metrics(step, steps=np.array(steps), variables={"excess_loss": np.array(losses)})
            run.write_checkpoint(step, arrays={"weights": weights}, state={"momentum": momentum})
            run.prune_checkpoints(keep_every=50, keep_last=2)
        manifest = describe_run(
            status="finished",
            steps=step,
            device="cpu",
            threads=1,
            argv=sys.argv,
            started=now(),
            ended=now(),
            engine="reference",
        )
        run.finish(manifest)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
