"""Digests of numbers that a refactoring must not change: run `python scripts/digests.py` before and after, then `diff`.

One line each for a short published run of the minimal and of the full model on every path (weights, snapshots, metrics)
and for a flow. With `--verdicts RUNS` the verdicts on the stored runs below RUNS are digested too (outcome, measured
value and interval of every claim that can be judged there). Everything goes through the command line, so that the same
script serves both sides of a change; digests differ between machines.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
from safetensors.numpy import load_file

SIZE = ["--train.batch", "48", "--steps", "24", "--measure.test_samples", "64", "--train.samples", "960", "--quiet"]
PATHS = ("kernel", "torch", "reference")


def headwise(*arguments: str) -> str:
    """One command; its standard output, or the end of this script with its error."""
    done = subprocess.run([sys.executable, "-m", "headwise", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"headwise {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def of_arrays(arrays: dict[str, np.ndarray]) -> str:
    """Names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def of_table(path: Path) -> str:
    """Every value of every column."""
    table = parquet.read_table(path)
    digest = hashlib.sha256()
    for name in sorted(table.column_names):
        digest.update(name.encode())
        digest.update(repr(table[name].to_pylist()).encode())
    return digest.hexdigest()[:16]


def of_runs(root: Path) -> str:
    """Checkpoints, snapshots and metrics below a folder, in this order."""
    tensors = [*sorted(root.rglob("checkpoint-*.safetensors")), *sorted(root.rglob("snapshots-*.safetensors"))]
    digests = [of_arrays(load_file(path)) for path in tensors]
    return " ".join(digests + [of_table(path) for path in sorted(root.rglob("metrics-*.parquet"))])


def of_verdicts(runs: str, into: Path) -> str:
    """What was measured and decided, without the words around it."""
    text = headwise("reproduce", "--preset", "published", "--scale", "quick", "--seeds", "0", "--dry-run", "--json",
                    "--out", runs, "--into", str(into))  # fmt: skip
    verdicts = json.loads(text)
    verdicts = verdicts["verdicts"] if isinstance(verdicts, dict) else verdicts
    kept = [[item[key] for key in ("claim", "preset", "verdict", "measured", "interval", "seeds")] for item in verdicts]
    return hashlib.sha256(json.dumps(kept).encode()).hexdigest()[:16]


def main() -> None:
    """Print one line a part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verdicts", metavar="RUNS", help="also judge the quick-scale runs stored below RUNS")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for model in ("minimal", "full"):
            for path in PATHS:
                out = root / f"{model}-{path}"
                headwise("train", model, "--preset", "published", "--path", path, *SIZE, "--out", str(out))
                print(f"{f'{model} {path}':18} {of_runs(out)}", flush=True)
        headwise("flow", "--start", "B", "--out", str(root / "flow"))
        print(f"{'flow B':18} {of_runs(root / 'flow')}", flush=True)
        if arguments.verdicts:
            print(f"{'verdicts':18} {of_verdicts(arguments.verdicts, root / 'verdicts')}", flush=True)


if __name__ == "__main__":
    main()
