"""Three hosts on one machine: network namespaces with their own addresses, joined by a bridge in a fourth.

Nothing leaves these namespaces. The folder of the runs is shared by all, as a cluster shares one. Needs root and Linux;
elsewhere `NotPossible` says what is missing.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.counts import NotPossible

HOSTS = ("a", "b", "c")
SLOW = (
    ["netem", "delay", "100ms", "rate", "1mbit"],
    ["tbf", "rate", "400kbit", "burst", "4000", "latency", "2s"],
)
"""Ways to slow a link down; the first that the kernel knows is taken."""


@dataclass
class Network:
    """The hosts by name, and the processes that were started on them."""

    name: str
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def space(self, host: str) -> str:
        return f"{self.name}-{host}"

    def address(self, host: str) -> str:
        return f"10.77.0.{HOSTS.index(host) + 1}"

    def start(
        self, host: str, arguments: list[str], *, environment: dict[str, str], log: Path
    ) -> subprocess.Popen[str]:
        """Run Python on a host."""
        command = ["ip", "netns", "exec", self.space(host), sys.executable, *arguments]
        with log.open("w") as file:
            process = subprocess.Popen(
                command, env={**os.environ, **environment}, stdout=file, stderr=file, text=True, start_new_session=True
            )
        self.started.append(process)
        return process

    def cut(self, host: str) -> None:
        """Take a host off the network."""
        _ip("-n", self.space("hub"), "link", "set", f"to-{host}", "down")

    def join(self, host: str) -> None:
        """Put it on again."""
        _ip("-n", self.space("hub"), "link", "set", f"to-{host}", "up")

    def slow_down(self, host: str) -> str:
        """Make a host's link slow in both directions; how it was done."""
        for way in SLOW:
            ends = ((self.space("hub"), f"to-{host}"), (self.space(host), "eth0"))
            try:
                for space, device in ends:
                    _run("tc", "-n", space, "qdisc", "replace", "dev", device, "root", *way)
            except NotPossible:
                continue
            return way[0]
        raise NotPossible("the kernel can slow no link down: neither netem nor tbf")

    def processes(self, host: str) -> list[int]:
        """Every process on a host; all of them are ours."""
        return [int(pid) for pid in _ip("netns", "pids", self.space(host)).split()]

    def kill(self, host: str) -> None:
        """End every process of a host at once."""
        for pid in self.processes(host):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """End everything that was started."""
        for host in HOSTS:
            with suppress(NotPossible):
                self.kill(host)
        for process in self.started:
            process.wait(20)
        self.started.clear()


@contextmanager
def three_hosts() -> Iterator[Network]:
    """Hosts that are gone when the block is left."""
    if shutil.which("ip") is None or shutil.which("tc") is None:
        raise NotPossible("needs ip and tc (iproute2)")
    network = Network(f"headwise-{os.getpid()}")
    made = []
    try:
        for host in ("hub", *HOSTS):
            _ip("netns", "add", network.space(host))
            made.append(host)
        hub = network.space("hub")
        _ip("-n", hub, "link", "add", "bridge", "type", "bridge")
        _ip("-n", hub, "link", "set", "bridge", "up")
        for host in HOSTS:
            space = network.space(host)
            _ip("-n", hub, "link", "add", f"to-{host}", "type", "veth", "peer", "name", "eth0", "netns", space)
            _ip("-n", hub, "link", "set", f"to-{host}", "master", "bridge")
            _ip("-n", hub, "link", "set", f"to-{host}", "up")
            _ip("-n", space, "link", "set", "lo", "up")
            _ip("-n", space, "link", "set", "eth0", "up")
            _ip("-n", space, "addr", "add", f"{network.address(host)}/24", "dev", "eth0")
        yield network
    finally:
        network.stop()
        for host in made:
            with suppress(NotPossible):
                _ip("netns", "del", network.space(host))


def _ip(*arguments: str) -> str:
    return _run("ip", *arguments)


def _run(*command: str) -> str:
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except OSError as error:
        raise NotPossible(f"network namespaces are not allowed here: {error}") from None
    if answer.returncode:
        raise NotPossible(f"network namespaces are not allowed here: {' '.join(command)}: {answer.stderr.strip()}")
    return answer.stdout
