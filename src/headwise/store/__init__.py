"""Run directories: write-once files with their SHA-256, one lock per run, resume from the newest whole checkpoint.

Nothing here imports torch, and pyarrow, safetensors and xarray are imported only where they are needed.
"""

from headwise.store.checkpoints import Checkpoint, OnDamage
from headwise.store.find_run import find_run
from headwise.store.histories import History
from headwise.store.identity import RunIdentity
from headwise.store.listing import RunRecord, RunStatus, list_runs, run_condition, run_status, steps_done
from headwise.store.log import now
from headwise.store.manifest import EndStatus, describe_run
from headwise.store.output_root import check_writable, run_path, short_path
from headwise.store.read_run import load_trajectory
from headwise.store.run_directory import RunDirectory

__all__ = [
    "Checkpoint",
    "EndStatus",
    "History",
    "OnDamage",
    "RunDirectory",
    "RunIdentity",
    "RunRecord",
    "RunStatus",
    "check_writable",
    "describe_run",
    "find_run",
    "list_runs",
    "load_trajectory",
    "now",
    "run_condition",
    "run_path",
    "run_status",
    "short_path",
    "steps_done",
]
