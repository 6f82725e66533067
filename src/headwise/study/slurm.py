"""Workers as Slurm jobs, by dask-jobqueue: one job is one worker on one core, and jobs that end are replaced.

The scheduler lives in this process and must be reached from the nodes, so everything speaks TLS with keys made for this
sweep; only who can read the shared directory can join. There are no status pages: the scheduler's server for them is
closed, a worker's is on loopback and has none. A job that waits in Slurm's queue
counts as a worker to come, because giving up on it would lose its place.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.core.errors import ConfigError
from headwise.study.cluster_config import ClusterConfig
from headwise.study.interrupts import keep_interrupt_handler

if TYPE_CHECKING:
    from distributed import Client

WORKER_SETTINGS = (
    "export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False",
    # Dask's own small threshold gives memory back to the system at every step; these are where glibc's default ends up.
    "export MALLOC_TRIM_THRESHOLD_=67108864 MALLOC_MMAP_THRESHOLD_=33554432",
    "export DASK_DISTRIBUTED__WORKER__HTTP__ROUTES=[]",
    # Slurm itself limits a job's memory; dask would pause or end a worker before.
    *(f"export DASK_DISTRIBUTED__WORKER__MEMORY__{name}=False" for name in ("TARGET", "SPILL", "PAUSE", "TERMINATE")),
)
DEATH_SECONDS = 120
ASK_QUEUE_EVERY = 30.0
COMMAND_SECONDS = 60


@contextmanager
def slurm_client(workers: int, settings: ClusterConfig) -> Iterator[tuple[Client, Callable[[], int]]]:
    """A client with this many jobs behind it, and how many workers it has or may still get from the queue."""
    from distributed import Client

    try:
        with keep_interrupt_handler():
            from dask_jobqueue.slurm import SLURMCluster
        from distributed.security import Security

        security = Security.temporary()
    except ImportError:
        raise ConfigError("--executor slurm needs dask-jobqueue: pip install 'headwise[cluster]'") from None
    logs = Path(settings.logs).absolute()
    shared = Path(settings.shared).absolute() if settings.shared else logs
    _make_private(shared)
    with (
        SLURMCluster(
            queue=settings.queue,
            account=settings.account,
            walltime=settings.time,
            memory=settings.memory,
            cores=1,
            processes=1,
            job_script_prologue=[*WORKER_SETTINGS, *settings.setup],
            job_extra_directives=list(settings.directives),
            worker_extra_args=["--no-dashboard", "--dashboard-address", "127.0.0.1:0"],
            scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            log_directory=str(logs),
            interface=settings.interface,
            security=security,
            shared_temp_directory=str(shared),
            death_timeout=DEATH_SECONDS,
            silence_logs="CRITICAL",
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        # Dask starts it even without a dashboard, for any user of this machine to read.
        cluster.scheduler.http_server.stop()
        _check_accepted(cluster.job_script())
        # Adaptive with equal ends replaces jobs that the queue has killed; a fixed scale would not.
        cluster.adapt(minimum_jobs=workers, maximum_jobs=workers)
        yield client, _expected_workers(client, cluster)


def _make_private(directory: Path) -> None:
    """The directory of the TLS keys; one that exists keeps its permissions, the keys themselves are 0600."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"[cluster] shared = {directory} cannot be made: {error.strerror or error}") from None


def _check_accepted(script: str) -> None:
    """Let Slurm judge the job before anything is queued: a wrong queue, account or size is refused at once."""
    try:
        answer = subprocess.run(
            ["sbatch", "--test-only"], input=script, capture_output=True, text=True, timeout=COMMAND_SECONDS
        )
    except FileNotFoundError:
        raise ConfigError(
            "--executor slurm: there is no sbatch on this machine; take local or tcp://HOST:PORT"
        ) from None
    except subprocess.TimeoutExpired:
        raise ConfigError(
            f"--executor slurm: sbatch does not answer within {COMMAND_SECONDS} s; is Slurm up?"
        ) from None
    if answer.returncode != 0:
        words = answer.stderr.strip().splitlines() or ["no reason given"]
        raise ConfigError(f"--executor slurm: Slurm refuses the job ({words[-1]}); correct the [cluster] section")


def _expected_workers(client: Client, cluster: Any) -> Callable[[], int]:
    asked, waiting = -ASK_QUEUE_EVERY, 0

    def expected() -> int:
        nonlocal asked, waiting
        if present := len(client.scheduler_info(n_workers=-1)["workers"]):
            return present
        if time.monotonic() - asked >= ASK_QUEUE_EVERY:
            asked = time.monotonic()
            waiting = _pending([str(job.job_id) for job in list(cluster.workers.values()) if job.job_id])
        return waiting

    return expected


def _pending(jobs: list[str]) -> int:
    """How many of these jobs wait in the queue; none if Slurm does not answer."""
    if not jobs:
        return 0
    try:
        answer = subprocess.run(
            ["squeue", "--noheader", "--states=PENDING,CONFIGURING", "--format=%i", f"--jobs={','.join(jobs)}"],
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return len(answer.stdout.split())
