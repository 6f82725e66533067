"""Peak memory of one path, measured in a process of its own: `python -m headwise.bench.memory CASE PATH BATCH`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import torch

from headwise.bench.cases import Contender, Name, contenders, paper_sizes


def peak_gigabytes(case: Name, path: Contender, *, batch: int) -> float:
    """Largest resident size of a fresh process, interpreter and torch included, that runs the case twice."""
    command = [sys.executable, "-m", "headwise.bench.memory", case, path, str(batch)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return float(done.stdout)


def main(case: Name, path: Contender, batch: int) -> None:
    torch.set_num_threads(1)
    run = contenders(case, paper_sizes(case, batch=batch))[path]
    for _ in range(2):
        run()
    print(peak_bytes() / 1e9)


def peak_bytes() -> int:
    """Largest resident size of this process so far."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not `ru_maxrss`, which remembers the size of the process that started this one.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    main(cast(Name, sys.argv[1]), cast(Contender, sys.argv[2]), int(sys.argv[3]))
