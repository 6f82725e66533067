"""Run directories: write-once files with their SHA-256, one lock per run, resume from the newest whole checkpoint.

Nothing here imports torch, and pyarrow, safetensors and xarray are imported only where they are needed.
"""

from headwise.store.checkpoints import Checkpoint, OnDamage
from headwise.store.listing import RunList, RunRecord, RunStatus, list_runs, run_status, steps_done
from headwise.store.log import now
from headwise.store.manifest import EndStatus, describe_run
from headwise.store.output_root import check_writable, run_path
from headwise.store.read_run import load_trajectory
from headwise.store.run_directory import RunDirectory
from headwise.store.segments import History

__all__ = [
    "Checkpoint",
    "EndStatus",
    "History",
    "OnDamage",
    "RunDirectory",
    "RunList",
    "RunRecord",
    "RunStatus",
    "check_writable",
    "describe_run",
    "list_runs",
    "load_trajectory",
    "now",
    "run_path",
    "run_status",
    "steps_done",
]
