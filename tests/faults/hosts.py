"""A sweep on three hosts with a dask scheduler over TLS, while a host is cut off, slow, killed, or the scheduler's."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headwise.store import RunDirectory
from tests.faults.counts import Counts, Found, NotPossible
from tests.faults.network import Network, three_hosts
from tests.faults.workplace import command, data_below, difference, run_folders, tiny_options, without_git, workplace

RUNS = 4
STEPS = "800"
PORT = 8786
END_SECONDS = 150.0
"""A sweep that a fault has hit ends within this, its restarts included."""

SETTINGS = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "8s",
    "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True",
    "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
    "OMP_NUM_THREADS": "1",
}


@dataclass
class Cluster:
    """A scheduler, workers and a folder that all hosts see."""

    network: Network
    place: Path
    scheduler: str = "a"
    number: int = 0

    @property
    def out(self) -> Path:
        return self.place / "runs"

    @property
    def address(self) -> str:
        return f"tls://{self.network.address(self.scheduler)}:{PORT}"

    def start_scheduler(self, host: str = "a") -> None:
        self.scheduler = host
        address = self.network.address(host)
        arguments = ["--host", address, "--port", str(PORT), "--protocol", "tls", "--no-dashboard",
                     "--dashboard-address", "127.0.0.1:0"]  # fmt: skip
        self._start(host, ["-m", "distributed.cli.dask_scheduler", *arguments], "scheduler")

    def start_worker(self, host: str) -> None:
        arguments = [self.address, "--host", self.network.address(host), "--nthreads", "1", "--no-nanny",
                     "--no-dashboard", "--dashboard-address", "127.0.0.1:0", "--death-timeout", "60",
                     "--local-directory", str(self.place / f"worker-{host}")]  # fmt: skip
        self._start(host, ["-m", "distributed.cli.dask_worker", *arguments], f"worker-{host}")

    def start_sweep(self, host: str = "a") -> subprocess.Popen[str]:
        line = ["sweep", "minimal", *_size(), "--seeds", f"0..{RUNS - 1}", "--executor", self.address]
        return self._start(host, ["-m", "headwise", *line, "--out", str(self.out)], "sweep")

    def said(self, what: str) -> str:
        return "".join(path.read_text() for path in sorted(self.place.glob(f"{what}-*.log")))

    def _start(self, host: str, arguments: list[str], name: str) -> subprocess.Popen[str]:
        self.number += 1
        environment = {**SETTINGS, **tls_settings(self.place / "keys")}
        log = self.place / f"{name}-{self.number}.log"
        return self.network.start(host, arguments, environment=environment, log=log)


def run(counts: Counts) -> None:
    """Every fault in turn; a case is a run that went through one."""
    with workplace() as place, without_git():
        command("sweep", "minimal", *_size(), "--seeds", f"0..{RUNS - 1}", "--out", str(place / "serial"), "-q")
        expected = data_below(place / "serial")
    with three_hosts() as network:
        while counts.go_on():
            for name, scene in SCENES.items():
                if not counts.go_on():
                    return
                with workplace() as place:
                    make_keys(place / "keys")
                    _try(counts, name, scene, Cluster(network, place), expected)
                    network.stop()


def _try(
    counts: Counts, name: str, scene: Callable[[Cluster], str], cluster: Cluster, expected: dict[str, dict[str, bytes]]
) -> None:
    try:
        said = scene(cluster)
    except Found as found:
        counts.tried += RUNS
        counts.kinds[name] += RUNS
        counts.add(found.fault, f"{name}: {found}")
        return
    finally:
        for host in ("a", "b", "c"):
            cluster.network.join(host)
    runs = {str(run.relative_to(cluster.out)): run for run in run_folders(cluster.out)}
    found_data = data_below(cluster.out)
    for place in expected:
        with counts.case(f"{name}{said}", place):
            if place not in runs:
                raise Found("lost", "the run is not there")
            if unlike := difference({place: expected[place]}, {place: found_data[place]}):
                raise Found("wrong", unlike)
            events = [event["event"] for event in RunDirectory(runs[place]).read_log()]
            if events.count("finished") != 1:
                raise Found("wrong", f"computed {events.count('finished')} times: {events}")
            if "Traceback (most recent call last)" in cluster.said("sweep"):
                raise Found("traceback", cluster.said("sweep")[-600:])


def _cut_off(cluster: Cluster) -> str:
    """A worker's host is off the network in the middle of a run, and stays off."""
    sweep = _begin(cluster)
    cluster.network.cut("b")
    _end(sweep, cluster)
    return ""


def _cut_for_a_while(cluster: Cluster) -> str:
    sweep = _begin(cluster)
    cluster.network.cut("b")
    time.sleep(2)
    cluster.network.join("b")
    _end(sweep, cluster)
    return ""


def _slow(cluster: Cluster) -> str:
    way = cluster.network.slow_down("b")
    sweep = _begin(cluster)
    _end(sweep, cluster)
    return f" ({way})"


def _killed(cluster: Cluster) -> str:
    sweep = _begin(cluster)
    cluster.network.kill("b")
    _end(sweep, cluster)
    return ""


def _scheduler_killed(cluster: Cluster) -> str:
    """The scheduler's host is gone with the command on it; the command is repeated with a scheduler elsewhere."""
    _begin(cluster)
    cluster.network.kill("a")
    cluster.network.kill("b")
    cluster.start_scheduler("c")
    cluster.start_worker("b")
    cluster.start_worker("c")
    _end(cluster.start_sweep("b"), cluster)
    return ""


def _scheduler_cut_off(cluster: Cluster) -> str:
    """The command is on another host than the scheduler, which is gone: it ends by itself and is repeated."""
    sweep = _begin(cluster, command_on="c")
    cluster.network.kill("a")
    code = _wait(sweep, cluster)
    if code not in (1, 2, 4, 75):
        raise Found("wrong", f"without its scheduler the command ended with {code}: {cluster.said('sweep')[-300:]}")
    cluster.network.kill("b")
    cluster.network.kill("c")
    cluster.start_scheduler("b")
    cluster.start_worker("c")
    _end(cluster.start_sweep("c"), cluster)
    return ""


SCENES: dict[str, Callable[[Cluster], str]] = {
    "a host killed": _killed,
    "a host cut off": _cut_off,
    "a host cut off for a moment": _cut_for_a_while,
    "a slow link": _slow,
    "the scheduler's host gone, with the command": _scheduler_killed,
    "the scheduler's host gone, the command elsewhere": _scheduler_cut_off,
}


def _begin(cluster: Cluster, command_on: str = "a") -> subprocess.Popen[str]:
    """A sweep of which some run has reached a checkpoint."""
    cluster.start_scheduler("a")
    cluster.start_worker("b")
    cluster.start_worker("c")
    sweep = cluster.start_sweep(command_on)
    until = time.monotonic() + END_SECONDS
    while not any(cluster.out.glob("*/*/checkpoint-*.safetensors")):
        if sweep.poll() is not None or time.monotonic() > until:
            raise Found("lost", f"nothing began: {sweep.poll()}: {cluster.said('sweep')[-600:]}")
        time.sleep(0.02)
    return sweep


def _wait(sweep: subprocess.Popen[str], cluster: Cluster) -> int:
    try:
        return sweep.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        raise Found("hang", f"not over after {END_SECONDS:.0f} s: {cluster.said('sweep')[-400:]}") from None


def _end(sweep: subprocess.Popen[str], cluster: Cluster) -> None:
    code = _wait(sweep, cluster)
    if code != 0:
        raise Found("lost", f"the sweep ended with {code}: {cluster.said('sweep')[-600:]}")


def _size() -> list[str]:
    return tiny_options(train__steps=STEPS, train__checkpoint_every="50", measure__at__every="50",
                        measure__snapshots__every="500")  # fmt: skip


def make_keys(folder: Path) -> None:
    """Keys of one authority for all hosts, readable by their owner alone."""
    try:
        from distributed.security import Security

        security = Security.temporary()
    except ImportError:
        raise NotPossible("needs cryptography: pip install 'headwise[cluster]'") from None
    folder.mkdir(mode=0o700)
    for name, content in (
        ("ca.pem", security.tls_ca_file),
        ("cert.pem", security.tls_client_cert),
        ("key.pem", security.tls_client_key),
    ):
        path = folder / name
        path.touch(mode=0o600)
        path.write_text(content)


def tls_settings(folder: Path) -> dict[str, str]:
    """Dask's settings for these keys, as docs/sweeps.md gives them."""
    settings = {"DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(folder / "ca.pem")}
    for who in ("CLIENT", "SCHEDULER", "WORKER"):
        settings[f"DASK_DISTRIBUTED__COMM__TLS__{who}__CERT"] = str(folder / "cert.pem")
        settings[f"DASK_DISTRIBUTED__COMM__TLS__{who}__KEY"] = str(folder / "key.pem")
    return settings
